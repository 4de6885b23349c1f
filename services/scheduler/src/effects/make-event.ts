import { newUuid } from '@runledger/contracts/ids';
import { isExecuting } from '@runledger/contracts/fold/run';
import { parseRunEvent, type RunEvent } from '@runledger/contracts/events/run-event';
import { lastProgress } from '@runledger/event-log/streams/activity';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { rememberMessage } from '@runledger/event-log/append/previous-hash';
import { readStored } from '@runledger/event-log/messages/stream-identity';
import type { Assign, RunDecision } from '../core/decisions/decision.ts';
import type { RecentRequests, RequestedInputs } from '../log/recent-requests.ts';
import { assignedEvent, endingEvent, giveUpInstead, type Stamp } from '../core/decisions/decided-event.ts';

export interface EventSources {
  readonly log: EventLog;
  /** Distinguishes this process from others of the same service. */
  readonly instance: string;
  readonly requests: Pick<RecentRequests, 'inputsOf'>;
  /** In which it decides. */
  readonly term: number;
}

/**
 * The event of a decision. Reads what the scheduler does not keep in memory; undefined when that has left the log, and with it the
 * beginning of the run. @throws {LogUnavailable}
 */
export const makeEvent = async (
  sources: EventSources,
  decision: RunDecision,
): Promise<RunEvent | undefined> => {
  switch (decision.type) {
    case 'assign':
      return makeAssignment(sources, decision);
    case 'requeue':
      return endingEvent(decision, stamp(sources));
    case 'time_out':
    case 'give_up':
    case 'enforce_cancel':
      return endingEvent(decision, stamp(sources), await progressOf(sources, decision));
  }
};

/** The event that ends a run whose assignment cannot be stored. */
export const makeGiveUp = (sources: EventSources, decision: Assign, message: string): RunEvent =>
  endingEvent(giveUpInstead(decision, message), stamp(sources));

const makeAssignment = async (sources: EventSources, decision: Assign): Promise<RunEvent | undefined> => {
  const requested = sources.requests.inputsOf(decision.run.number) ?? (await readRequest(sources, decision));
  if (!requested) return undefined;
  const { inputs, inputs_blob } = requested;
  return assignedEvent(decision, stamp(sources), {
    slot_allocation_id: newUuid(),
    inputs,
    inputs_blob,
    term: sources.term,
  });
};

const readRequest = async (
  { log }: EventSources,
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

const progressOf = async ({ log }: EventSources, { key, run }: RunDecision): Promise<number | undefined> => {
  if (!isExecuting(run)) return undefined;
  const { number, executor_id } = run.attempt;
  return (await lastProgress(log, key, number, executor_id))?.progress;
};

/** The time is for people; the broker's time counts. */
const stamp = ({ instance }: EventSources): Stamp => ({
  event_id: newUuid(),
  time: new Date().toISOString(),
  instance,
});
