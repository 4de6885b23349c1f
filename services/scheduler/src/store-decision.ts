import { type RunEvent, parseRunEvent } from '@runledger/contracts/events/run-event';
import { append, EventTooLarge } from '@runledger/event-log/append/append';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { newUuid } from '@runledger/contracts/ids';
import { lastHeartbeat } from '@runledger/coordination/heartbeats';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { appendFleet } from '@runledger/event-log/append/append-fleet';
import { isExecuting } from '@runledger/contracts/fold/run';
import { lastProgress } from '@runledger/event-log/streams/activity';
import { rememberMessage } from '@runledger/event-log/append/previous-hash';
import { readStored } from '@runledger/event-log/read/run-messages';
import {
  type RunDecision,
  type DeclareLost,
  type Assign,
  assignedEvent,
  endingEvent,
  giveUpInstead,
  type Stamp,
} from './core/decision.ts';
import type { Outcome } from './core/scheduler-input.ts';
import type { RecentRequests, RequestedInputs } from './follow-runs.ts';

/** What the leading scheduler stores its decisions with. */
export interface StoreOptions {
  readonly log: EventLog;
  /** Distinguishes this process from others of the same service. */
  readonly instance: string;
  /** In which it decides. */
  readonly term: number;
  readonly requests: RecentRequests;
  readonly metrics: DecisionMetrics;
  /** Called with a stored heartbeat that the watch has not delivered yet. */
  readonly onHeartbeat: (heartbeat: Heartbeat, time: string) => void;
}

/** Appends the event of a decision on the head that it rests on. */
export const storeDecision = async (
  options: StoreOptions,
  decision: RunDecision,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log } = options;
  try {
    const event = await retryWhileUnavailable({ signal, logger: log.logger }, () =>
      makeEvent(options, decision),
    );
    return event === undefined
      ? expired(options, decision, 0)
      : await store(options, decision, event, signal);
  } catch (error) {
    if (!(error instanceof EventTooLarge) || decision.type !== 'assign') throw error;
    // A run that cannot be assigned would wait forever, and take a slot each time.
    log.logger.error({ err: error, run_id: decision.key.run_id }, 'a run cannot be assigned and is given up');
    const message = `The run could not be assigned because of an error in the scheduler: ${error.message}`;
    return store(options, decision, makeGiveUp(options, decision, message), signal);
  }
};

/** While the log is unavailable the same event is appended again. The log recognises it by its id. */
const store = async (
  options: StoreOptions,
  decision: RunDecision,
  event: RunEvent,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log, metrics } = options;
  const { expected } = decision;
  const { run_id, type } = event;
  const appended = await retryWhileUnavailable({ signal, logger: log.logger }, () =>
    append(log, event, expected),
  );
  if (appended.kind !== 'conflict') {
    count(metrics, event);
    return 'stored';
  }
  metrics.conflict();
  const { head } = appended;
  if (head >= expected) {
    log.logger.debug({ run_id, type, head }, 'another fact came first');
    return 'refused';
  }
  return expired(options, decision, head);
};

/** A gateway ends the run. */
const expired = ({ log }: StoreOptions, { key, type, expected }: RunDecision, head: number): 'expired' => {
  log.logger.error(
    { run_id: key.run_id, decision: type, expected, head },
    'the log no longer holds the events of a run that has not ended: raise runsMaxAgeMs in the log settings',
  );
  return 'expired';
};

const count = (metrics: DecisionMetrics, event: RunEvent): void => {
  if (event.type === 'RunAssigned') metrics.assigned();
  else if (event.type === 'RunCancelEnforced') metrics.ended('cancel_enforced');
  else if (event.type === 'RunRequeued') metrics.ended(`requeued_${event.data.reason}`);
  else if (event.type === 'RunTimedOut' || event.type === 'RunGivenUp') metrics.ended(event.data.reason);
};

/**
 * Stores the loss of an executor, unless the leader of the stream has a later heartbeat: a watch may be behind after the
 * broker was unavailable.
 */
export const storeLoss = async (
  { log, metrics, onHeartbeat }: StoreOptions,
  { executor, message, lastHeartbeat: known, restarted }: DeclareLost,
): Promise<'stored' | 'refused'> => {
  try {
    const last = await lastHeartbeat(log, executor);
    if (last && last.time !== known) {
      onHeartbeat(last.heartbeat, last.time);
      return 'refused';
    }
    await appendFleet(log, {
      type: 'ExecutorLost',
      version: 1,
      event_id: newUuid(),
      executor_id: executor,
      time: new Date().toISOString(),
      message,
    });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    log.logger.warn({ err: error, executor }, 'the log is unavailable; the executor gets another period');
    return 'refused';
  }
  if (restarted) log.logger.info({ executor, message }, 'an executor is lost, and was started again');
  else log.logger.warn({ executor, message }, 'an executor is lost');
  metrics.executorLost();
  return 'stored';
};

/**
 * The event of a decision. Reads what the scheduler does not keep in memory; undefined when that has left the log, and with it the
 * beginning of the run. @throws {LogUnavailable}
 */
const makeEvent = async (options: StoreOptions, decision: RunDecision): Promise<RunEvent | undefined> => {
  switch (decision.type) {
    case 'assign':
      return makeAssignment(options, decision);
    case 'requeue':
      return endingEvent(decision, stamp(options));
    case 'time_out':
    case 'give_up':
    case 'enforce_cancel':
      return endingEvent(decision, stamp(options), await progressOf(options, decision));
  }
};

/** The event that ends a run whose assignment cannot be stored. */
const makeGiveUp = (options: StoreOptions, decision: Assign, message: string): RunEvent =>
  endingEvent(giveUpInstead(decision, message), stamp(options));

const makeAssignment = async (options: StoreOptions, decision: Assign): Promise<RunEvent | undefined> => {
  const requested = options.requests.inputsOf(decision.run.number) ?? (await readRequest(options, decision));
  if (!requested) return undefined;
  const { inputs, inputs_blob } = requested;
  return assignedEvent(decision, stamp(options), {
    slot_allocation_id: newUuid(),
    inputs,
    inputs_blob,
    term: options.term,
  });
};

const readRequest = async (
  { log }: StoreOptions,
  { key, run }: Assign,
): Promise<RequestedInputs | undefined> => {
  const stored = await readStored(log, run.number);
  const parsed = stored && parseRunEvent(stored.body);
  if (parsed?.kind !== 'event' || parsed.event.type !== 'RunQueued') return undefined;
  // The assignment rests on it, unless the run was queued again.
  if (stored) rememberMessage(log, stored);
  return parsed.event.run_id === key.run_id && parsed.event.org_id === key.org_id
    ? parsed.event.data
    : undefined;
};

const progressOf = async ({ log }: StoreOptions, { key, run }: RunDecision): Promise<number | undefined> => {
  if (!isExecuting(run)) return undefined;
  const { number, executor_id } = run.attempt;
  return (await lastProgress(log, key, number, executor_id))?.progress;
};

/** The time is for people; the broker's time counts. */
const stamp = ({ instance }: StoreOptions): Stamp => ({
  event_id: newUuid(),
  time: new Date().toISOString(),
  instance,
});

/** Why a run or an attempt was ended by the scheduler. */
export const DECIDED_ENDS = [
  'cancel_enforced',
  'requeued_executor_lost',
  'requeued_executor_left',
  'requeued_not_started',
  'run_timeout',
  'start_deadline',
  'no_capacity',
  'storage_full',
  'executor_lost',
  'internal_error',
] as const;
type DecidedEnd = (typeof DECIDED_ENDS)[number];

/** What is counted when a decision is executed. */
export interface DecisionMetrics {
  assigned(): void;
  executorLost(): void;
  ended(reason: DecidedEnd): void;
  conflict(): void;
}
