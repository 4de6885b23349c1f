import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Conclusion } from '@runledger/notifier/core/conclusion';
import { isInTimers, type FinalDelivery } from '@runledger/notifier/core/delivery';
import type { StoredOpening } from '@runledger/notifier/core/inputs-and-effects';
import { breakerKey, receiverKey, type Receiver } from '@runledger/notifier/core/receiver';
import type { Timeline } from '../virtual-time.ts';
import type { Broker } from './broker.ts';

/** Nobody waits for hours here: retries and openings of breakers are due after this at the latest. */
const LONGEST_WAIT_MS = 40_000;

/** The notification of a run that has ended. */
export interface NotifiedRun {
  readonly key: RunKey;
  readonly receiver: Receiver;
  /** 1, and one more with every redelivery. */
  round: number;
  readonly endedAt: number;
  isSettled: boolean;
}

export interface Timer {
  readonly delivery: FinalDelivery;
  readonly state: 'wait' | 'due' | 'deferred';
  readonly sequence: number;
  /** By the broker's clock. */
  readonly at: number;
}

/** What notifiers store at the broker: webhook facts, TIMERS with one message for each subject, and positions. It outlives every notifier. */
export class DeliveryStore {
  readonly #timeline: Timeline;
  readonly #broker: Broker;
  readonly #capacity: number;
  /** By run and state. */
  readonly #timers = new Map<string, Timer>();
  #sequence = 0;
  readonly runs = new Map<string, NotifiedRun>();
  /** Those that wait, by their breaker, and those whose time is over, by their sequence. */
  readonly openings = new Map<string, StoredOpening>();
  readonly dueOpenings = new Map<number, StoredOpening>();
  readonly positions = new Map<number, PartitionPosition>();
  /** A message of TIMERS whose time has come. */
  onDue: () => void = () => undefined;
  onSettled: (run: NotifiedRun) => void = () => undefined;

  constructor(timeline: Timeline, broker: Broker, capacity = Infinity) {
    this.#timeline = timeline;
    this.#broker = broker;
    this.#capacity = capacity;
  }

  /** The run has ended. */
  notify(key: RunKey, receiver: Receiver, endedAt: number): void {
    if (!this.runs.has(key.run_id))
      this.runs.set(key.run_id, { key, receiver, round: 1, endedAt, isSettled: false });
  }

  notifyAgain(run: NotifiedRun): NotifiedRun {
    run.round += 1;
    run.isSettled = false;
    return run;
  }

  timers(): Timer[] {
    return [...this.#timers.values()].toSorted((one, other) => one.sequence - other.sequence);
  }

  /** The newest message that is pending for the run. */
  pendingOf({ run_id }: RunKey): Timer | undefined {
    return (['wait', 'due', 'deferred'] as const)
      .flatMap((state) => this.#timers.get(`${run_id}.${state}`) ?? [])
      .toSorted((one, other) => other.sequence - one.sequence)[0];
  }

  deferredAt(receiver: Receiver, after: number): FinalDelivery[] {
    return this.timers().flatMap(({ state, sequence, delivery }) => {
      const { key, origin } = delivery;
      const isThere = receiverKey({ org_id: key.org_id, origin }) === receiverKey(receiver);
      return state !== 'wait' && sequence > after && isThere ? [{ ...delivery, mayBeSuperseded: true }] : [];
    });
  }

  /** Only what is newest in TIMERS counts; a new round begins with nothing there. */
  isSuperseded(delivery: FinalDelivery): boolean {
    const pending = this.pendingOf(delivery.key);
    if (!pending) return false;
    if (isInTimers(delivery)) return pending.sequence > delivery.source.sequence;
    if (pending.delivery.round >= delivery.round) return true;
    for (const state of ['wait', 'due', 'deferred']) this.#timers.delete(`${delivery.key.run_id}.${state}`);
    return false;
  }

  /** Stores what follows from an attempt of this round, unless another one came first. */
  conclude(delivery: FinalDelivery, round: number, conclusion: Conclusion): 'stored' | 'no_room' {
    const run = this.runs.get(delivery.key.run_id);
    if (!run || run.isSettled || run.round !== round) return 'stored';
    if (conclusion.kind !== 'retry') {
      run.isSettled = true;
      this.onSettled(run);
      return 'stored';
    }
    if (!this.#hasCapacity(delivery)) return 'no_room';
    this.#store({ ...delivery, ...conclusion.progress }, 'wait', conclusion.at);
    return 'stored';
  }

  defer(delivery: FinalDelivery, reminder: StoredOpening | undefined): 'stored' | 'no_room' {
    if (!this.#hasCapacity(delivery)) return 'no_room';
    if (reminder) this.open(reminder);
    const isNew = delivery.source.kind !== 'deferred';
    if (isNew && !(delivery.mayBeSuperseded && this.isSuperseded(delivery)))
      this.#store(delivery, 'deferred', 0);
    return 'stored';
  }

  open(opening: StoredOpening): void {
    const key = breakerKey(opening);
    this.openings.set(key, opening);
    this.#wake(opening.until, () => {
      if (this.openings.get(key) !== opening) return;
      this.openings.delete(key);
      for (const [due, other] of this.dueOpenings)
        if (breakerKey(other) === key) this.dueOpenings.delete(due);
      this.dueOpenings.set((this.#sequence += 1), opening);
    });
  }

  close(receiver: Pick<StoredOpening, 'org_id' | 'origin'>, due: number | null): void {
    this.openings.delete(breakerKey(receiver));
    if (due !== null) this.remove(due);
  }

  remove(sequence: number): void {
    this.dueOpenings.delete(sequence);
    for (const [subject, timer] of this.#timers)
      if (timer.sequence === sequence) this.#timers.delete(subject);
  }

  /** The oldest half is purged, or dropped by the broker. */
  loseOldest(): void {
    const all = this.timers();
    for (const { sequence } of all.slice(0, Math.ceil(all.length / 2))) this.remove(sequence);
  }

  /** The broker loses the schedules of all that waits, and keeps the messages: none is ever due. */
  stall(): void {
    for (const [subject, timer] of this.#timers)
      if (timer.state === 'wait') this.#timers.set(subject, { ...timer, at: this.#broker.clock });
  }

  /** An organisation may have as many as are free. */
  #hasCapacity(delivery: FinalDelivery): boolean {
    if (isInTimers(delivery)) return true;
    const own = this.timers().filter((timer) => timer.delivery.key.org_id === delivery.key.org_id);
    return this.#capacity - this.#timers.size >= Math.max(own.length, 1);
  }

  #store(delivery: FinalDelivery, state: Timer['state'], at: number): void {
    const { run_id } = delivery.key;
    const sequence = (this.#sequence += 1);
    const kind = state === 'deferred' ? 'deferred' : 'due';
    const timer = { delivery: { ...delivery, source: { kind, sequence } }, state, sequence, at } as const;
    this.#timers.set(`${run_id}.${state}`, timer);
    if (state !== 'wait') return;
    this.#wake(at, () => {
      if (this.#timers.get(`${run_id}.wait`) !== timer) return;
      this.#timers.delete(`${run_id}.wait`);
      this.#store(timer.delivery, 'due', 0);
    });
  }

  #wake(at: number, work: () => void): void {
    this.#timeline.after(Math.min(at - this.#broker.clock, LONGEST_WAIT_MS), () => {
      work();
      this.onDue();
    });
  }
}
