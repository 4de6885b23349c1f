import { isExecuting } from '@runledger/contracts/fold/run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Capabilities, Requirements } from '../slots/requirements.ts';
import type { RunName } from '../slots/run-name.ts';
import type { HeldSlot, SlotAllocation, SlotRef } from '../slots/slot-allocation.ts';
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
  /** Queued runs that may start, or take slots of another GPU model, from a time on: by that time. */
  readonly #changes = new IndexedPriorityQueue<RunName>();
  readonly #deadlines = new IndexedPriorityQueue<RunName>();
  readonly #allocation: SlotAllocation;
  readonly #settings: DeadlineSettings;
  /** The broker's clock, as `takeChanged` was told it last. */
  #nowMs = 0;

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
      this.#queue.hold(known, known.slot.gpu);
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
    if (known.run.status === 'queued') this.#wait(known);
    this.#deadlines.set(known.name, deadlineOf(known.run, this.#settings));
  }

  /** It waits for the slots that it may take by now, and for others later. */
  #wait(known: KnownRun): void {
    const { name, requirements } = known;
    for (const one of [{ after_s: 0, requirements }, ...requirements.later]) {
      if (this.#queue.waitsFor(known).includes(one.requirements)) continue;
      const from = this.#timeAfter(known, one.after_s);
      if (from > this.#nowMs) return this.#changes.set(name, from);
      this.#queue.add(known, one.requirements);
    }
  }

  /** When it has waited so long, since it was queued or its retry was due. */
  #timeAfter({ run }: KnownRun, seconds: number): number {
    const delayS = run.retry_after_s + seconds;
    return delayS === 0 ? -Infinity : this.#settings.instantOf(run.queued_at) + delayS * 1_000;
  }

  /** It waits for neither a slot nor its deadline. */
  unschedule(known: KnownRun): void {
    this.#changes.delete(known.name);
    if (known.slot === undefined) this.#queue.remove(known);
    this.#deadlines.delete(known.name);
  }

  /** It gets the slot because it is next. */
  allocateSlot(known: KnownRun, slot: HeldSlot): void {
    known.slot = slot;
    this.#queue.start(known, slot.gpu);
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

  /** What it requires of a slot now, in order of its GPU models; nothing while it waits for no slot. */
  waitsFor(known: KnownRun): Requirements[] {
    return known.run.status === 'queued' && !known.slot ? this.#queue.waitsFor(known) : [];
  }

  /** The same; while it waits for no slot, what it would wait for at first. */
  requiredNow(known: KnownRun): Requirements[] {
    const waitsFor = this.waitsFor(known);
    return waitsFor.length > 0 ? waitsFor : [known.requirements];
  }

  /** About how many waiting runs start before this one. */
  aheadOf(known: KnownRun, ableTo: (requirements: Requirements) => readonly Capabilities[]): Ahead {
    return this.#queue.aheadOf(known, ableTo);
  }

  /** Yields each run whose deadline has passed once, the earliest deadline first. `now` is the broker's clock, in milliseconds. */
  *takeExpired(now: number): Generator<KnownRun> {
    for (let first = this.#deadlines.first(); first && first.rank <= now; first = this.#deadlines.first()) {
      this.#deadlines.delete(first.item);
      const known = this.#runs.get(first.item);
      if (known) yield known;
    }
  }

  /** It waits for no slot yet, since its last attempt failed only now. */
  isRetrying(known: KnownRun): boolean {
    return this.#changes.has(known.name) && !known.place;
  }

  /** Yields each run that waits for a slot, or for one of another GPU model, from now on. `now` is the broker's clock, in milliseconds. */
  *takeChanged(now: number): Generator<KnownRun> {
    this.#nowMs = now;
    for (let first = this.#changes.first(); first && first.rank <= now; first = this.#changes.first()) {
      this.#changes.delete(first.item);
      const known = this.#runs.get(first.item);
      if (!known) continue;
      this.#wait(known);
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
