import { MongoClient, MongoServerError } from 'mongodb';

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

/** The code of MongoDB for a user that exists. */
const USER_EXISTS = 51_003;

/**
 * Lets a user do everything at the server, with this password; one that exists gets it too. The server asks for no password yet.
 * @throws MongoError when the server does not do it
 */
export const makeUser = async (url: string, user: string, pwd: string): Promise<void> => {
  await using client = new MongoClient(url);
  const admin = client.db('admin');
  try {
    await admin.command({ createUser: user, pwd, roles: ['root'] });
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === USER_EXISTS)) throw error;
    await admin.command({ updateUser: user, pwd });
  }
};
