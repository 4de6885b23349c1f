import type { RunId } from '@runledger/contracts/ids';
import type { FinalDelivery } from '@runledger/notifier/core/delivery';
import { receiverKey, type Receiver } from '@runledger/notifier/core/receiver';
import TinyQueue from 'tinyqueue';

/** When the next attempt may be made, in milliseconds since 1970: the schedule leaves a part of it to chance. */
export interface RetryTime {
  readonly earliestMs: number;
  readonly latestMs: number;
  /** The receiver may have asked for more time, which the slice does not say. */
  readonly mayBeLater: boolean;
}

/** A delivery in TIMERS. */
export interface PendingDelivery {
  readonly delivery: FinalDelivery;
  readonly sequence: number;
  readonly state: 'wait' | 'due' | 'deferred';
  readonly time: RetryTime;
}

interface Alarm {
  readonly atMs: number;
  readonly run: RunId;
  readonly sequence: number;
}

/** It is attempted when the slice says so. */
const WHENEVER: RetryTime = { earliestMs: -Infinity, latestMs: Infinity, mayBeLater: true };

/** TIMERS, which is not in a slice: what the core has stored there. One message for each run. */
export class PlayedTimers {
  readonly #pending = new Map<RunId, PendingDelivery>();
  readonly #byReceiver = new Map<string, Map<RunId, PendingDelivery>>();
  readonly #alarms = new TinyQueue<Alarm>([], (one, other) => one.atMs - other.atMs);
  readonly #runs = new Map<number, RunId>();
  #lastSequence = 0;

  get(run: RunId): PendingDelivery | undefined {
    return this.#pending.get(run);
  }

  store(delivery: FinalDelivery, state: PendingDelivery['state'], time = WHENEVER): PendingDelivery {
    const { run_id: run } = delivery.key;
    this.remove(run);
    const sequence = (this.#lastSequence += 1);
    const kind = state === 'deferred' ? 'deferred' : 'due';
    const stored = {
      ...delivery,
      source: { kind, sequence },
      mayBeSuperseded: state === 'deferred',
    } as const;
    const pending = { delivery: stored, sequence, state, time };
    this.#pending.set(run, pending);
    this.#runs.set(sequence, run);
    const there = this.#byReceiver.get(keyOf(delivery)) ?? new Map<RunId, PendingDelivery>();
    this.#byReceiver.set(keyOf(delivery), there.set(run, pending));
    this.#wake(pending, time.latestMs);
    this.#wake(pending, delivery.expiresAt);
    return pending;
  }

  remove(run: RunId): void {
    const pending = this.#pending.get(run);
    if (!pending) return;
    this.#pending.delete(run);
    this.#runs.delete(pending.sequence);
    const there = this.#byReceiver.get(keyOf(pending.delivery));
    there?.delete(run);
    if (there?.size === 0) this.#byReceiver.delete(keyOf(pending.delivery));
  }

  /** By the sequence of its message, which may have been replaced. */
  removeMessage(sequence: number): void {
    const run = this.#runs.get(sequence);
    if (run !== undefined) this.remove(run);
  }

  /** Those that are due or deferred, in the order in which they were stored. */
  storedAt(receiver: Receiver): PendingDelivery[] {
    return [...(this.#byReceiver.get(receiverKey(receiver))?.values() ?? [])].filter(
      ({ state }) => state !== 'wait',
    );
  }

  /** When one may have to be attempted or given up. */
  get nextMs(): number {
    return this.#alarms.peek()?.atMs ?? Infinity;
  }

  /** Takes out the next one whose time has come; undefined when its message was replaced. */
  takeNext(): PendingDelivery | undefined {
    const alarm = this.#alarms.pop();
    const pending = alarm && this.#pending.get(alarm.run);
    return pending?.sequence === alarm?.sequence ? pending : undefined;
  }

  /** It is looked at again then. */
  wakeAgain(run: RunId, atMs: number): void {
    const pending = this.#pending.get(run);
    if (pending) this.#wake(pending, atMs);
  }

  #wake({ delivery, sequence }: PendingDelivery, atMs: number): void {
    if (atMs < Infinity) this.#alarms.push({ atMs, run: delivery.key.run_id, sequence });
  }
}

export const receiverOf = ({ key, origin }: FinalDelivery): Receiver => ({ org_id: key.org_id, origin });

const keyOf = (delivery: FinalDelivery): string => receiverKey(receiverOf(delivery));
