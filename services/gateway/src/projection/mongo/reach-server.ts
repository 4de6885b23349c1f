import { MongoClient } from 'mongodb';

/** Whether the driver accepts this as an address. Nothing is connected. */
export const isServerAddress = (url: string): boolean => {
  try {
    void new MongoClient(url);
    return true;
  } catch {
    // The error of the driver may quote the address, with its password.
    return false;
  }
};

/** Why the server at this address cannot be used now, in the words of the driver; undefined when it answers. It is one that the driver accepts. */
export const whyUnreachable = async (url: string, withinMs: number): Promise<string | undefined> => {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: withinMs, connectTimeoutMS: withinMs });
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
