import { newUuid } from '@runledger/contracts/ids';
import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import { head, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import type { Kit } from '../../kit.ts';
import type { ExpireRun } from './expire-run.ts';
import { requestCancel, type CancelAnswer } from './cancel.decide.ts';
import type { CurrentRun, ReadCurrentRun } from './current-run.ts';

type Cancellation =
  /** `isNew` is false when the answer held before the request. */
  | { readonly kind: 'answered'; readonly answer: CancelAnswer; readonly isNew: boolean }
  /** Its status is no longer one of those that the request names. */
  | { readonly kind: 'status_excluded' }
  /** The run changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | Exclude<CurrentRun, { kind: 'found' }>;

export interface Canceller {
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
  ({ log, writer, now, metrics }: Kit, current: ReadCurrentRun, expire: ExpireRun): CancelRun =>
  async (key, { user_id, traceparent, recorded }, only) => {
    const readKnown = async (atLeast?: number): Promise<Known> => {
      const read = await readRun(log, key, { atLeast: atLeast ?? (await head(log, key)) });
      return read.kind === 'found'
        ? { found: read, head: read.history.head }
        : { found: await current(key), head: undefined };
    };
    const read = async (atLeast?: number): Promise<Known> => {
      const known = await readKnown(atLeast);
      const { found } = known;
      if (known.head !== undefined || found.kind !== 'found' || isEnded(found.run)) return known;
      await expire(key);
      return readKnown();
    };
    const first = await read();
    const decide = ({ found, head: expected }: Known): Decision<Cancellation> => {
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
      decideAndAppend<Known, Cancellation>(log, {
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

interface Known {
  readonly found: Extract<ReadRun, { kind: 'found' }> | CurrentRun;
  /** Undefined for a run that only the views know. */
  readonly head: number | undefined;
}

const EXPIRED = { kind: 'unreadable', why: 'the log no longer holds the events of this run' } as const;
