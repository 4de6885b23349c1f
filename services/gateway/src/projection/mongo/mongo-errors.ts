import { MongoBulkWriteError, MongoServerError } from 'mongodb';
import { within } from '@runledger/resilience/within';
import { ViewsUnavailable } from '../run-views.ts';

const DUPLICATE_KEY = 11000;

/**
 * Waits for the server up to this time; a later result is dropped. The driver itself only limits how long it
 * searches for a server (7.9 takes `timeoutMS` and ignores it).
 * @throws {ViewsUnavailable} for every failure of the server
 */
export const orUnavailable = async <Result>(
  what: string,
  withinMs: number,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await within(withinMs, work(), () => {
      throw new Error(`no response within ${withinMs} ms`);
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ViewsUnavailable(`${what}: MongoDB failed (${why})`, { cause: error });
  }
};

/** A guarded upsert that finds a newer document tries to insert a second one, which the server refuses. */
export const ignoringStale = async (write: () => Promise<unknown>): Promise<void> => {
  try {
    await write();
  } catch (error) {
    if (error instanceof MongoBulkWriteError) {
      // Without any write error the server has not responded: the driver also throws this for a lost connection.
      const errors = [error.writeErrors].flat();
      const isStale = errors.length > 0 && errors.every(isDuplicate);
      if (isStale && error.result.getWriteConcernError() === undefined) return;
    } else if (error instanceof MongoServerError && isDuplicate(error)) return;
    throw error;
  }
};

const isDuplicate = ({ code }: { code?: number | string | undefined }): boolean => code === DUPLICATE_KEY;
