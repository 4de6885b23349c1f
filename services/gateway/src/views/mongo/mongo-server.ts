import { MongoBulkWriteError, MongoClient, MongoServerError } from 'mongodb';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import { ViewsUnavailable } from '../run-views.ts';

const DUPLICATE_KEY = 11000;

export interface MongoLimits {
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** How long a read may take. */
  readonly readWithinMs: number;
  readonly writeWithinMs: number;
}

/**
 * Waits for the server up to this time; a later result is dropped. The driver itself only limits how long it
 * searches for a server (7.9 takes `timeoutMS` and ignores it).
 */
export const limited = <Result>(withinMs: number, work: () => Promise<Result>): Promise<Result> =>
  within(withinMs, work(), () => {
    throw new Error(`no response within ${withinMs} ms`);
  });

/** `withinMs`: undefined for work that limits itself. @throws {ViewsUnavailable} for every failure of the server */
export const orUnavailable = async <Result>(
  what: string,
  withinMs: number | undefined,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await (withinMs === undefined ? work() : limited(withinMs, work));
  } catch (error) {
    if (error instanceof ViewsUnavailable) throw error;
    const why = messageOf(error);
    throw new ViewsUnavailable(`${what}: MongoDB failed (${why})`, { cause: error });
  }
};

/**
 * The places of the writes that the server refused because there is a document with the same id: of an upsert, one that its filter does
 * not match. @throws for every other failure
 */
export const refusedAsDuplicates = async (write: () => Promise<unknown>): Promise<readonly number[]> => {
  try {
    await write();
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    // Without any write error the server has not responded: the driver also throws this for a lost connection.
    const errors = [error.writeErrors].flat();
    const isRefused = errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY);
    if (!isRefused || error.result.getWriteConcernError() !== undefined) throw error;
    return errors.map(({ index }) => index);
  }
};

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
    return messageOf(error);
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
