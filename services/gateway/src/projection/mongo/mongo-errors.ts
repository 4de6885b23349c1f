import { MongoBulkWriteError, MongoServerError } from 'mongodb';
import { within } from '@runledger/resilience/within';
import { ViewsUnavailable } from '../run-views.ts';

const DUPLICATE_KEY = 11000;

/**
 * Work of the server that whoever asks does not wait for longer than so; what comes later is dropped. The driver itself
 * bounds only how long a server is looked for (7.9 takes `timeoutMS` and does nothing with it).
 * @throws {ViewsUnavailable} for whatever goes wrong with the server
 */
export const orUnavailable = async <Result>(
  what: string,
  withinMs: number,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await within(withinMs, work(), () => {
      throw new Error(`no answer within ${withinMs} ms`);
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ViewsUnavailable(`${what}: MongoDB did not do it (${why})`, { cause: error });
  }
};

/** A guarded upsert that finds a newer document tries to insert a second one, and is refused for that. */
export const ignoringStale = async (write: () => Promise<unknown>): Promise<void> => {
  try {
    await write();
  } catch (error) {
    if (error instanceof MongoBulkWriteError) {
      // Without any of them it is no answer of the server: the driver makes one of a lost connection, too.
      const errors = [error.writeErrors].flat();
      const isStale = errors.length > 0 && errors.every(isDuplicate);
      if (isStale && error.result.getWriteConcernError() === undefined) return;
    } else if (error instanceof MongoServerError && isDuplicate(error)) return;
    throw error;
  }
};

const isDuplicate = ({ code }: { code?: number | string | undefined }): boolean => code === DUPLICATE_KEY;
