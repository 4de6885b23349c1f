import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import { executorConsumer } from '@runledger/contracts/requests/executors';
import { executorFilter, parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import {
  consume,
  done,
  ConsumerInUse,
  deadLetterBecause,
  type Consumption,
} from '@runledger/event-log/follow/consume';
import { rememberMessage } from '@runledger/event-log/append/previous-hash';
import { perMinute } from '@runledger/resilience/per-minute';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { requestConsumer } from '@runledger/request-reply/executor-consumers';
import { sleep } from '@runledger/resilience/abort';
import type { RedriveResponse } from '@runledger/contracts/requests/operator-requests';
import { respondToRedrives, refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import { lastOfSubjects } from '@runledger/event-log/read/direct-read';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { appendOwn, LogFull } from '@runledger/event-log/append/append';
import type { Executor } from './executor.ts';
import type { Appended, LedgerSettings } from './attempt-ledger.ts';

const RETRY_AFTER_MS = 500;
/** For one request. It is repeated. */
const CREATED_WITHIN_MS = 3_000;
/** When a machine loses its power, its executor looks connected to the broker until its last request ends, 10 s at most. */
const OTHER_ENDS_WITHIN_MS = 12_000;

/**
 * Delivers every fact that is addressed to the executor, in the order of the log, from now on. Open it before the
 * executor registers, so that it misses no assignment. The consumer has the executor's name, so that the broker can
 * permit it to this executor alone. A scheduler creates it, and until then `onWaiting` is told why there is none. While another executor of
 * that name is alive, that one keeps it.
 * @throws {Error} when the other one does not end
 */
export const consumeAddressed = async (
  log: EventLog,
  executorId: ExecutorId,
  handle: Executor['handle'],
  stopping: AbortSignal,
  onWaiting: (why: string) => void,
): Promise<Consumption> => {
  const options = {
    name: executorConsumer(executorName(executorId)),
    stream: 'RUNS',
    subjects: [executorFilter(executorId)],
    deliver: 'new' as const,
    owner: {
      id: executorId,
      owns: (subject: string) => subject.endsWith(`.${executorId}`),
      create: () => createdByScheduler(log, executorId),
    },
  };
  const lines = perMinute(1);
  const waits = (error: Error, what: string): void => {
    onWaiting(error.message);
    const line = lines(error.message);
    if (line) log.logger.warn({ err: error, ...line }, what);
  };
  let giveUpAt: number | undefined;
  for (;;) {
    try {
      return await consume(log, options, async ({ stored }) => {
        // What its attempts store next rests on it.
        rememberMessage(log, stored);
        const handled = handle(stored);
        return handled.kind === 'accepted' ? done : deadLetterBecause(handled.why);
      });
    } catch (error) {
      if (error instanceof ConsumerInUse) {
        giveUpAt ??= performance.now() + OTHER_ENDS_WITHIN_MS;
        if (performance.now() >= giveUpAt)
          throw new Error(nameTakenMessage(executorId, error), { cause: error });
        waits(error, 'another executor of that name is running; waiting for it to end');
      } else if (error instanceof LogUnavailable) {
        waits(error, 'there is no consumer for this executor yet; waiting for it');
      } else throw error;
      await sleep(RETRY_AFTER_MS, stopping);
      stopping.throwIfAborted();
    }
  }
};

/** An executor may create no consumer, because it could have it push messages anywhere. @throws {LogUnavailable} */
const createdByScheduler = async (log: EventLog, executorId: ExecutorId): Promise<void> => {
  if (await requestConsumer(log, executorId, CREATED_WITHIN_MS)) return;
  throw new LogUnavailable(
    'No scheduler has created the consumer of this executor: none responds. Start one, or look at its log.',
  );
};

const nameTakenMessage = (id: ExecutorId, { by }: ConsumerInUse): string =>
  `Another executor named ${executorName(id)} is running (${by}). ` +
  'Give each executor its own EXECUTOR_NAME, or stop the other one.';

/**
 * Redrives the dead letters of this executor on request, until it is disposed of. It may read its own subjects only, and
 * each fact has a subject of its own. An outdated fact does no harm: the log refuses the appends that follow it.
 */
export const redriveAddressed = (log: EventLog, id: ExecutorId, handle: Executor['handle']): Disposable =>
  respondToRedrives(log, `executor.${executorName(id)}`, async (request): Promise<RedriveResponse> => {
    const { stream, sequence, subject } = request;
    const about =
      subject === undefined || /[*>\s]/.test(subject) ? undefined : parseLifecycleSubject(subject);
    if (stream !== 'RUNS' || subject === undefined || !about) {
      return refused('An executor redrives facts of runs only, and needs the subject of the dead letter.');
    }
    if (about.executor_id !== id) {
      return refused(
        `It is addressed to ${about.executor_id ?? 'no executor'}, and this is ${id}. ` +
          'That process has ended; the scheduler requeues its runs.',
      );
    }
    const [stored] = await lastOfSubjects(log, [subject]);
    if (stored?.sequence !== sequence) return refusedAsMissing(request);
    const handled = handle(stored);
    switch (handled.kind) {
      case 'accepted':
        return taken(`Executor ${id} has taken it.`);
      case 'no_fact':
        return refused(`It is still refused: ${handled.why}.`);
    }
  });

/** Reads the last messages on subjects of this executor; undefined while the log is unavailable. */
export const readSubjects =
  (log: EventLog): LedgerSettings['look'] =>
  async (subjects) => {
    try {
      return await lastOfSubjects(log, subjects);
    } catch (error) {
      if (error instanceof LogUnavailable) return undefined;
      throw error;
    }
  };

/** An attempt waits while the log is unavailable or full. Every other error is a bug. */
export const appendTo =
  (log: EventLog) =>
  async (event: RunEvent, expected: number): Promise<Appended> => {
    try {
      return await appendOwn(log, event, expected);
    } catch (error) {
      if (error instanceof LogUnavailable || error instanceof LogFull) {
        return { kind: 'unavailable', why: error.message };
      }
      throw error;
    }
  };
