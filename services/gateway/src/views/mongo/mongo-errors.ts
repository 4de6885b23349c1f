import { MongoBulkWriteError } from 'mongodb';
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
