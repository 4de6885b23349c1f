import { newUuid } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { head, readRun } from '@runledger/event-log/read/read-run';
import type { Envelope } from '../current/core/envelope.ts';
import { requestCancel, type CancelAnswer } from './core/request-cancel.ts';
import type { CurrentRun, ReadCurrentRun } from '../current/current-run.ts';

type Cancellation =
  /** `isNew` is false when the answer held before it was asked for. */
  | { readonly kind: 'answered'; readonly answer: CancelAnswer; readonly isNew: boolean }
  /** Its status is none of those that were asked for, any more. */
  | { readonly kind: 'not_asked_for' }
  /** The run changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | Exclude<CurrentRun, { kind: 'found' }>;

export interface CancelRunOptions {
  readonly log: EventLog;
  readonly current: ReadCurrentRun;
  readonly writer: Envelope['writer'];
  readonly now: () => Date;
  readonly onConflict: () => void;
}

export interface Canceller {
  readonly user_id: string;
  readonly traceparent: string | null;
}

/** Whatever its status is, unless some are named. @throws {LogUnavailable} */
export type CancelRun = (
  key: RunKey,
  by: Canceller,
  only?: readonly Run['status'][],
) => Promise<Cancellation>;

const MOST_TRIES = 10;

/** Reads, decides and appends at what it decided on; when something else was stored first, it reads and decides again. */
export const cancelRun =
  ({ log, current, writer, now, onConflict }: CancelRunOptions): CancelRun =>
  async (key, { user_id, traceparent }, only) => {
    let atLeast = await head(log, key);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const read = await readRun(log, key, { atLeast });
      // A run whose events have expired is known to the views only.
      const known = read.kind === 'found' ? read : await current(key);
      if (known.kind !== 'found') return known;
      if (only && !only.includes(known.run.status)) return { kind: 'not_asked_for' };
      const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
      const decision = requestCancel(known.run, { user_id }, envelope);
      const { answer } = decision;
      if (decision.kind === 'nothing_to_do') return { kind: 'answered', answer, isNew: false };
      if (read.kind !== 'found') {
        return { kind: 'unreadable', why: 'the log no longer holds the events of this run' };
      }
      const appended = await append(log, decision.event, read.history.head);
      if (appended.kind === 'appended') return { kind: 'answered', answer, isNew: true };
      onConflict();
      atLeast = appended.head;
    }
    return { kind: 'too_busy' };
  };
