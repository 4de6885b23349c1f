import { MongoClient } from 'mongodb';

/** Why the server at this address cannot be used now, in the words of the driver; undefined when it answers. @throws TypeError for what is no address of MongoDB */
export const whyUnreachable = async (url: string, withinMs: number): Promise<string | undefined> => {
  const client = clientOf(url, withinMs);
  try {
    await client.connect();
    await client.db().command({ ping: 1 });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await client.close();
  }
};

/** The error of the driver may quote the address, with its password. */
const clientOf = (url: string, withinMs: number): MongoClient => {
  try {
    return new MongoClient(url, { serverSelectionTimeoutMS: withinMs, connectTimeoutMS: withinMs });
  } catch {
    throw new TypeError('It is no address of MongoDB, such as mongodb://127.0.0.1:27017/runledger.');
  }
};
