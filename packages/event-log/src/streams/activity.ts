import {
  ProgressReport,
  ALL_PROGRESS,
  parseProgressSubject,
  progressFilter,
  progressSubject,
} from '@runledger/contracts/events/progress';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { lastSequence, lastMessage } from '../read/leader-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { parseJson } from '../read/stored-message.ts';

const Progress = compiledSchema(ProgressReport);
const utf8 = new TextEncoder();

/**
 * Reports the progress of an attempt. Not acknowledged, and dropped while disconnected, when the client would buffer it without a
 * limit: the next report replaces it.
 */
export const reportProgress = (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
  report: ProgressReport,
): void => {
  if (!log.connected()) return;
  log.nc.publish(progressSubject(key, attempt, executor), utf8.encode(JSON.stringify(report)));
};

/** Progress is only one part of the caller's response, so the caller does not wait longer for it. */
const PROGRESS_WITHIN_MS = 500;

/** The last report of an attempt, from the leader; undefined without a report, or without a response in time. */
export const lastProgress = async (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
): Promise<ProgressReport | undefined> => {
  const subject = progressSubject(key, attempt, executor);
  try {
    const message = await lastMessage(log, 'ACTIVITY', subject, PROGRESS_WITHIN_MS);
    const report = message ? parseJson(message.data) : undefined;
    return Progress.Check(report) ? report : undefined;
  } catch (error) {
    log.logger.debug({ err: error, run_id: key.run_id }, 'the progress of a run could not be read');
    return undefined;
  }
};

/**
 * Calls `onReport` for each new report of a run's attempts. Returns a function that ends the subscription. Reports sent while
 * disconnected are lost: read the last one after a reconnect.
 */
export const subscribeToProgress = (
  log: EventLog,
  key: RunKey,
  onReport: (attempt: number, executor: ExecutorId, report: ProgressReport) => void,
): (() => void) => {
  const subscription = log.nc.subscribe(progressFilter(key), {
    callback: (error, message) => {
      if (error) {
        log.logger.warn(
          { err: error, run_id: key.run_id },
          'the progress of a run can no longer be received',
        );
        return;
      }
      const by = parseProgressSubject(message.subject);
      const report = parseJson(message.data);
      if (by && Progress.Check(report)) onReport(by.attempt, by.executor_id, report);
    },
  });
  // A closed connection has no subscriptions.
  return () => {
    if (!log.nc.isClosed()) subscription.unsubscribe();
  };
};

/** The sequence of the last progress report in ACTIVITY, of any run; 0 for none. @throws {LogUnavailable} */
export const lastProgressSequence = (log: EventLog): Promise<number> =>
  lastSequence(log, 'ACTIVITY', ALL_PROGRESS);
