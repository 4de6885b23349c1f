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

/** Reports the progress of an attempt. Not acknowledged, and dropped while the broker is away: the next report says more. */
export const reportProgress = (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
  report: ProgressReport,
): void =>
  publishActivity(log, activitySubject(key, attempt, executor, 'progress' satisfies ActivityKind), report);

/** Stores a line that the workflow wrote. Not acknowledged, and dropped while the broker is away. */
export const reportLog = (
  log: EventLog,
  key: RunKey,
  attempt: number,
  executor: ExecutorId,
  line: LogLine,
): void => publishActivity(log, activitySubject(key, attempt, executor, 'log' satisfies ActivityKind), line);

/** A client that is not connected keeps what it should send in memory, without a bound. */
const publishActivity = (log: EventLog, subject: string, body: ProgressReport | LogLine): void => {
  if (log.connected()) log.nc.publish(subject, utf8.encode(JSON.stringify(body)));
};

/** Progress is worth having, and no reason to wait: whoever asks has something more important to say. */
const PROGRESS_WITHIN_MS = 500;

/** The last report of an attempt, as the leader has it; undefined when there is none (any more), or no answer in time. */
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
    log.logger.debug({ err: error, run_id: key.run_id }, 'the progress of a run is not to be had');
    return undefined;
  }
};

/**
 * Tells what the attempts of a run report from now on, until the answer is called. Reports that come while the broker
 * is away are not told: ask for the last one when it is back.
 */
export const subscribeToProgress = (
  log: EventLog,
  key: RunKey,
  onReport: (attempt: number, executor: ExecutorId, report: ProgressReport) => void,
): (() => void) => {
  const subscription = log.nc.subscribe(progressFilter(key), {
    callback: (error, message) => {
      if (error) {
        log.logger.warn({ err: error, run_id: key.run_id }, 'the progress of a run cannot be watched');
        return;
      }
      const by = parseActivitySubject(message.subject);
      const report = parseJson(message.data);
      if (by && Progress.Check(report)) onReport(by.attempt, by.executor_id, report);
    },
  });
  // A connection that was closed has no subscriptions any more.
  return () => {
    if (!log.nc.isClosed()) subscription.unsubscribe();
  };
};

/** The sequence of the last progress report in ACTIVITY, of any run; 0 when there is none. @throws {LogUnavailable} */
export const lastProgressSequence = (log: EventLog): Promise<number> =>
  lastSequence(log, 'ACTIVITY', ALL_PROGRESS);
