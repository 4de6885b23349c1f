import { isExecuting } from '@runledger/contracts/fold/run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Capabilities } from '../slots/requirements.ts';
import type { RunName } from '../slots/run-name.ts';
import type { SlotAllocation, SlotRef } from '../slots/slot-allocation.ts';
import { deadlineOf, type DeadlineSettings } from './deadline.ts';
import { FairQueue, type Ahead, type FairQueueSettings, type Organisation } from './fair-queue.ts';
import type { FairShare } from './fair-share.ts';
import { IndexedPriorityQueue } from './indexed-priority-queue.ts';
import type { KnownRun } from './known-run.ts';

export interface RunCounts {
  readonly live: number;
  readonly executing: number;
  /** Their assignment is being stored. */
  readonly assigning: number;
}

export interface QueueLength {
  readonly gpu: GpuModel;
  readonly length: number;
  /** When the run that has waited longest was queued, by the broker's clock. */
  readonly oldest: string;
}

export type LiveRunsSettings = DeadlineSettings & FairQueueSettings;

/** The runs that have not ended: which wait for a slot, which hold one, and which deadline is next. */
export class LiveRuns {
  readonly #runs = new Map<RunName, KnownRun>();
  readonly #queue: FairQueue;
  /** Those whose assignment is being stored. */
  readonly #assigning = new Set<RunName>();
  #executing = 0;
  /** Those whose last attempt failed, by the time from which they wait for a slot again. */
  readonly #retrying = new IndexedPriorityQueue<RunName>();
  readonly #deadlines = new IndexedPriorityQueue<RunName>();
  readonly #allocation: SlotAllocation;
  readonly #settings: DeadlineSettings;

  constructor(allocation: SlotAllocation, settings: LiveRunsSettings) {
    this.#allocation = allocation;
    this.#settings = settings;
    this.#queue = new FairQueue(settings);
  }

  all(): Iterable<KnownRun> {
    return this.#runs.values();
  }

  get(name: RunName): KnownRun | undefined {
    return this.#runs.get(name);
  }

  counts(): RunCounts {
    return { live: this.#runs.size, executing: this.#executing, assigning: this.#assigning.size };
  }

  onExecutor(executor: ExecutorId): KnownRun[] {
    return this.#allocation.runsOn(executor).flatMap((name) => this.#runs.get(name) ?? []);
  }

  inSlot(slot: SlotRef): KnownRun[] {
    return [...this.#allocation.runsIn(slot)].flatMap((name) => this.#runs.get(name) ?? []);
  }

  add(known: KnownRun): void {
    this.#runs.set(known.name, known);
    if (isExecuting(known.run)) this.#executing += 1;
    if (known.slot) {
      this.#allocation.allocate(known.slot, known.name);
      this.#queue.hold(known);
    }
    this.schedule(known);
  }

  remove(known: KnownRun): void {
    this.unschedule(known);
    this.releaseSlot(known);
    if (this.#runs.delete(known.name) && isExecuting(known.run)) this.#executing -= 1;
  }

  /** A queued run waits for a slot, at once or later, and every run for its deadline. */
  schedule(known: KnownRun): void {
    const { run, name } = known;
    if (run.status === 'queued') {
      if (run.retry_after_s === 0) this.#queue.add(known);
      else this.#retrying.set(name, this.#settings.instantOf(run.queued_at) + run.retry_after_s * 1_000);
    }
    this.#deadlines.set(known.name, deadlineOf(known.run, this.#settings));
  }

  /** It waits for neither a slot nor its deadline. */
  unschedule(known: KnownRun): void {
    this.#retrying.delete(known.name);
    if (known.slot === undefined) this.#queue.remove(known);
    this.#deadlines.delete(known.name);
  }

  /** It gets the slot because it is next. */
  allocateSlot(known: KnownRun, slot: SlotRef): void {
    known.slot = slot;
    this.#queue.start(known);
    this.#assigning.add(known.name);
    this.#allocation.allocate(slot, known.name);
  }

  /** Returns the slot that it held. */
  releaseSlot(known: KnownRun): SlotRef | undefined {
    const { slot } = known;
    this.#assigning.delete(known.name);
    if (slot) {
      this.#allocation.release(slot, known.name);
      this.#queue.release(known);
    }
    known.slot = undefined;
    return slot;
  }

  /** The next run of this GPU model, of those that the executor can serve. */
  firstFor(gpu: GpuModel, capabilities: Capabilities): KnownRun | undefined {
    return this.#queue.firstFor(gpu, capabilities);
  }

  /** The limit that keeps a waiting run from a slot now. */
  limitFor(known: KnownRun): Limit | undefined {
    return this.#queue.limitFor(known);
  }

  /** The most slots that its organisation or deployment may hold; for a concurrency key one. */
  mostSlotsOf(known: KnownRun): number {
    return this.#queue.mostSlotsOf(known);
  }

  /** Waiting runs that may be within their limits because this run has left its slot: the first of each kind. */
  nextAfter(known: KnownRun): KnownRun[] {
    return this.#queue.nextAfter(known);
  }

  /** About how many waiting runs start before this one. `able` are the capabilities that fit it. */
  aheadOf(known: KnownRun, able: readonly Capabilities[]): Ahead {
    return this.#queue.aheadOf(known, able);
  }

  /** Yields each run whose deadline has passed once, the earliest deadline first. `now` is the broker's clock, in milliseconds. */
  *takeExpired(now: number): Generator<KnownRun> {
    for (let first = this.#deadlines.first(); first && first.rank <= now; first = this.#deadlines.first()) {
      this.#deadlines.delete(first.item);
      const known = this.#runs.get(first.item);
      if (known) yield known;
    }
  }

  isRetrying(known: KnownRun): boolean {
    return this.#retrying.has(known.name);
  }

  /** Yields each run that waits for a slot from now on, since its last attempt failed long enough ago. */
  *takeRetried(now: number): Generator<KnownRun> {
    for (let first = this.#retrying.first(); first && first.rank <= now; first = this.#retrying.first()) {
      this.#retrying.delete(first.item);
      const known = this.#runs.get(first.item);
      if (!known) continue;
      this.#queue.add(known);
      yield known;
    }
  }

  /** By GPU model. */
  pools(): ReadonlyMap<GpuModel, FairShare<Organisation>> {
    return this.#queue.pools();
  }

  *queues(): Generator<QueueLength> {
    for (const { gpu, length, oldest } of this.#queue.lengths()) {
      yield { gpu, length, oldest: oldest.run.queued_at };
    }
  }
}
