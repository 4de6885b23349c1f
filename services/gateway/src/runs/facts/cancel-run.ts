import { newUuid } from '@runledger/contracts/ids';
import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import { head as headOf } from '@runledger/event-log/read/read-run';
import type { Kit } from '../../kit.ts';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { EnvelopeForRun } from '@runledger/contracts/events/event-envelope';
import { inLogOrCurrent, type InLogOrCurrent, type NoRun, type ReadCurrentRun } from './current-run.ts';

type Cancellation =
  /** `isNew` is false when the answer held before the request. */
  | { readonly kind: 'answered'; readonly answer: CancelAnswer; readonly isNew: boolean }
  /** Its status is no longer one of those that the request names. */
  | { readonly kind: 'status_excluded' }
  /** The run changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | NoRun;

interface Canceller {
  readonly user_id: string;
  readonly traceparent: string | null;
  /** Carries out the cancellation of a run that another user queued. */
  readonly recorded?: <Result>(owner: string, work: () => Promise<Result>) => Promise<Result>;
}

/** `only` limits it to runs with these statuses. @throws {LogUnavailable} */
export type CancelRun = (
  key: RunKey,
  by: Canceller,
  only?: readonly Run['status'][],
) => Promise<Cancellation>;

/** Decides on the run as the log's leader has it. A run whose events have expired ends before, unless its view says that it has. */
export const cancelRun =
  (
    { log, writer, now, metrics }: Kit,
    current: ReadCurrentRun,
    expire: (key: RunKey) => Promise<void>,
  ): CancelRun =>
  async (key, { user_id, traceparent, recorded }, only) => {
    const read = async (atLeast?: number): Promise<InLogOrCurrent> => {
      const known = await inLogOrCurrent(log, current, key, atLeast ?? (await headOf(log, key)));
      const { found, head } = known;
      if (head !== undefined || found.kind !== 'found' || isEnded(found.run)) return known;
      await expire(key);
      return inLogOrCurrent(log, current, key, await headOf(log, key));
    };
    const first = await read();
    const decide = ({ found, head: expected }: InLogOrCurrent): Decision<Cancellation> => {
      if (found.kind !== 'found') return { kind: 'answer', answer: found };
      if (only && !only.includes(found.run.status)) {
        return { kind: 'answer', answer: { kind: 'status_excluded' } };
      }
      const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
      const decision = requestCancel(found.run, { user_id }, envelope);
      const { answer } = decision;
      if (decision.kind === 'nothing_to_do') {
        return { kind: 'answer', answer: { kind: 'answered', answer, isNew: false } };
      }
      if (expected === undefined) return { kind: 'answer', answer: EXPIRED };
      const { event } = decision;
      return { kind: 'append', event, expected, answer: { kind: 'answered', answer, isNew: true } };
    };
    const carryOut = () =>
      decideAndAppend<InLogOrCurrent, Cancellation>(log, {
        read: async (atLeast) => (atLeast === undefined ? first : read(atLeast)),
        decide,
        onConflict: metrics.conflict,
      });
    const owner = first.found.kind === 'found' ? first.found.run.request.user_id : user_id;
    const decided = await (owner === user_id || recorded === undefined
      ? carryOut()
      : recorded(owner, carryOut));
    return decided.kind === 'too_busy' ? { kind: 'too_busy' } : decided.answer;
  };

const EXPIRED = { kind: 'unreadable', why: 'the log no longer holds the events of this run' } as const;

interface CancelAnswer {
  readonly status: Run['status'];
  readonly outcome: 'cancelled' | 'cancellation_requested' | 'already_ended';
}

type CancelDecision =
  /** The answer holds once the event is stored at the head that was decided on. */
  | {
      readonly kind: 'append';
      readonly event: RunEventOf<'RunCancelRequested'>;
      readonly answer: CancelAnswer;
    }
  | { readonly kind: 'nothing_to_do'; readonly answer: CancelAnswer };

/** A queued run ends at once. A run that executes is asked to stop. A second request, or one after the end, changes nothing. */
export const requestCancel = (
  run: Run,
  { user_id }: { readonly user_id: string },
  envelope: EnvelopeForRun,
): CancelDecision => {
  if (isEnded(run)) {
    const outcome = run.status === 'cancelled' ? 'cancelled' : 'already_ended';
    return { kind: 'nothing_to_do', answer: { status: run.status, outcome } };
  }
  const isQueued = run.status === 'queued';
  const answer: CancelAnswer = isQueued
    ? { status: 'cancelled', outcome: 'cancelled' }
    : { status: run.status, outcome: 'cancellation_requested' };
  if (!isQueued && run.cancel) return { kind: 'nothing_to_do', answer };
  return {
    kind: 'append',
    event: {
      ...envelope,
      type: 'RunCancelRequested',
      version: 1,
      correlation_id: run.correlation_id,
      causation_id: null,
      attempt: run.attempt?.number ?? 0,
      executor_id: isQueued ? null : run.attempt.executor_id,
      data: { by: 'client', user_id },
    },
    answer,
  };
};
