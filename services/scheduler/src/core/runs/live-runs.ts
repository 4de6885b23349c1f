import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { Capabilities } from '../slots/requirements.ts';
import { deadlineOf, type DeadlineSettings } from './deadline.ts';
import type { KnownRun } from './known-run.ts';
import type { SlotAllocation, SlotRef } from '../slots/slot-allocation.ts';
import { IndexedPriorityQueue } from './indexed-priority-queue.ts';
import type { RunName } from '../slots/run-name.ts';
import { WaitingRuns, type WaitingRun } from './waiting-runs.ts';

export interface QueueLength {
  readonly gpu: GpuModel;
  readonly length: number;
  /** Since when the first of them waits, as the broker's time. */
  readonly oldest: string | undefined;
}

/** The runs that have not ended: which wait for a slot, which hold one, and what is due next. */
export class LiveRuns {
  readonly #runs = new Map<RunName, KnownRun>();
  readonly #waiting = new WaitingRuns();
  readonly #due = new IndexedPriorityQueue<RunName>();
  readonly #occupancy: SlotAllocation;
  readonly #settings: DeadlineSettings;

  constructor(occupancy: SlotAllocation, settings: DeadlineSettings) {
    this.#occupancy = occupancy;
    this.#settings = settings;
  }

  all(): Iterable<KnownRun> {
    return this.#runs.values();
  }

  get(name: RunName): KnownRun | undefined {
    return this.#runs.get(name);
  }

  on(executor: ExecutorId): KnownRun[] {
    return this.#occupancy.runsOn(executor).flatMap((name) => this.#runs.get(name) ?? []);
  }

  in(seat: SlotRef): KnownRun[] {
    return [...this.#occupancy.runsIn(seat)].flatMap((name) => this.#runs.get(name) ?? []);
  }

  add(known: KnownRun): void {
    this.#runs.set(known.name, known);
    if (known.slot) this.#occupancy.hold(known.slot, known.name);
    this.await(known);
  }

  remove(known: KnownRun): void {
    this.awaitNothing(known);
    this.leaveSeat(known);
    this.#runs.delete(known.name);
  }

  /** It waits for a slot if it is queued, and for its deadline in any case. */
  await(known: KnownRun): void {
    if (known.run.status === 'queued') this.#waiting.add(waitingRun(known));
    this.#due.set(known.name, deadlineOf(known.run, this.#settings));
  }

  awaitNothing(known: KnownRun): void {
    this.#waiting.remove(waitingRun(known));
    this.#due.delete(known.name);
  }

  takeSeat(known: KnownRun, seat: SlotRef): void {
    known.slot = seat;
    this.#occupancy.hold(seat, known.name);
  }

  leaveSeat(known: KnownRun): void {
    if (known.slot) this.#occupancy.release(known.slot, known.name);
    known.slot = undefined;
  }

  /** The longest waiting run of this GPU model that the executor could serve. */
  firstFor(gpu: GpuModel, offer: Capabilities): KnownRun | undefined {
    const name = this.#waiting.firstFor(gpu, offer);
    return name === undefined ? undefined : this.#runs.get(name);
  }

  /** How many waiting runs come before this one; `offers` are those that fit it. */
  aheadOf(known: KnownRun, offers: readonly Capabilities[]): number {
    return this.#waiting.aheadOf(waitingRun(known), offers);
  }

  /** Gives those whose time is up, each once, the most overdue first. `now` is the broker's clock, in milliseconds. */
  *takeOverdue(now: number): Generator<KnownRun> {
    for (let first = this.#due.first(); first && first.rank <= now; first = this.#due.first()) {
      this.#due.delete(first.item);
      const known = this.#runs.get(first.item);
      if (known) yield known;
    }
  }

  *queues(): Generator<QueueLength> {
    for (const { gpu, length, first } of this.#waiting.lengths()) {
      yield { gpu, length, oldest: this.#runs.get(first)?.run.queued_at };
    }
  }
}

const waitingRun = ({ name, run, requirements: demand }: KnownRun): WaitingRun => ({
  name,
  number: run.number,
  requirements: demand,
});
