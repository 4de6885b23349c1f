import { ProgressReport, type LogLine } from '@runledger/contracts/events/activity';
import type { ExecutorId } from '@runledger/contracts/ids';
import {
  activitySubject,
  ALL_PROGRESS,
  parseActivitySubject,
  progressFilter,
  type ActivityKind,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import { Compile } from 'typebox/compile';
import { lastSequence, lastMessage } from '../messages/leader-read.ts';
import type { EventLog } from '../connect/event-log.ts';
import { parseJson } from '../messages/stored-message.ts';

const Progress = Compile(ProgressReport);
const utf8 = new TextEncoder();

/** Reports the progress of an attempt. Not acknowledged, and dropped while disconnected: the next report replaces it. */
export const reportProgress = (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
  report: ProgressReport,
): void =>
  publishActivity(log, activitySubject(key, attempt, executor, 'progress' satisfies ActivityKind), report);

/** Stores a line that the workflow wrote. Not acknowledged, and dropped while disconnected. */
export const reportLog = (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
  line: LogLine,
): void => publishActivity(log, activitySubject(key, attempt, executor, 'log' satisfies ActivityKind), line);

/** A disconnected client would buffer messages in memory, without a limit. */
const publishActivity = (log: EventLog, subject: string, body: ProgressReport | LogLine): void => {
  if (log.connected()) log.nc.publish(subject, utf8.encode(JSON.stringify(body)));
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
  const subject = activitySubject(key, attempt, executor, 'progress');
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
      const by = parseActivitySubject(message.subject);
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
