import { MongoBulkWriteError, MongoServerError } from 'mongodb';
import { ViewsUnavailable } from './run-views.ts';

const DUPLICATE_KEY = 11000;

/** @throws {ViewsUnavailable} for whatever goes wrong with the server. */
export const orUnavailable = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
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
      const errors = [error.writeErrors].flat();
      if (error.result.getWriteConcernError() === undefined && errors.every(isDuplicate)) return;
    } else if (error instanceof MongoServerError && isDuplicate(error)) return;
    throw error;
  }
};

const isDuplicate = ({ code }: { code?: number | string | undefined }): boolean => code === DUPLICATE_KEY;
