import { timeOf } from './time-text.ts';
import { isExecuting, waitsSince } from '@runledger/contracts/fold/run';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { RunDecision } from '../decision.ts';
import type { Capabilities, Requirements } from '../requirements.ts';
import {
  keyOfName,
  isSameSlot,
  type HeldSlot,
  type SlotAllocation,
  type SlotRef,
} from '../slot-allocation.ts';
import type { PackedRows } from './packed-rows.ts';
import { deadlineOf, type DeadlineSettings, TimingWheel } from './deadlines.ts';
import { DelayedRuns } from './delayed-runs.ts';
import { FairQueue, type Ahead, type FairQueueSettings } from './fair-queue.ts';
import type { Deployment, Organisation, FairShare } from './fair-share.ts';
import type { HoldOut } from './usage.ts';
import type { KnownRun, Row, SharedRequests } from './known-run.ts';
import { restoreRows } from './restore-rows.ts';
import { RunTable, type FrozenRuns } from './run-table.ts';

export interface RunCounts {
  readonly live: number;
  readonly executing: number;
  /** Their assignment is being stored. */
  readonly assigning: number;
}

/** A run that holds out for slots with its version takes a slot, leaves it to others, or may have another one at once. */
export type HoldOutChoice = 'takes' | 'leaves' | 'has_another';

export interface QueueLength {
  readonly gpu: GpuModel;
  readonly length: number;
  /** Since when the run waits for a slot that was queued first, by the broker's clock. */
  readonly oldest: string;
}

export type LiveRunsSettings = DeadlineSettings & FairQueueSettings;

/** The runs that have not ended: which wait for a slot, which hold one, and which deadline is next. */
export class LiveRuns {
  readonly #table: RunTable;
  readonly #queue: FairQueue;
  /** Those whose assignment is being stored. */
  #assigning = 0;
  #executing = 0;
  /** When queued runs may start, or take slots of another GPU model. */
  readonly #changes = new TimingWheel();
  /** Of these, those that wait for no slot yet. */
  readonly #delayed = new DelayedRuns();
  /** Since when runs have left free slots to others, by the broker's clock. */
  readonly #heldOutSince = new Map<Row, number>();
  readonly #deadlines = new TimingWheel();
  readonly #allocation: SlotAllocation;
  readonly #settings: DeadlineSettings;
  /** The broker's clock, as `takeChanged` was told it last. */
  #nowMs = 0;

  constructor(allocation: SlotAllocation, settings: LiveRunsSettings) {
    this.#allocation = allocation;
    this.#settings = settings;
    this.#table = new RunTable();
    this.#queue = new FairQueue(this.#table, settings);
  }

  all(): Iterable<KnownRun> {
    return this.#table.all();
  }

  /** All that execute, all with a decision, and some others. */
  kept(): Iterable<KnownRun> {
    return this.#table.kept();
  }

  get(key: RunKey): KnownRun | undefined {
    return this.#table.find(key);
  }

  counts(): RunCounts {
    return { live: this.#table.size, executing: this.#executing, assigning: this.#assigning };
  }

  onExecutor(executor: ExecutorId): KnownRun[] {
    return this.#allocation.runsOn(executor).flatMap((name) => this.get(keyOfName(name)) ?? []);
  }

  /** Those that hold a slot. */
  holding(): KnownRun[] {
    return [...this.#allocation.all()].flatMap((name) => this.get(keyOfName(name)) ?? []);
  }

  inSlot(slot: SlotRef): KnownRun[] {
    return this.#allocation.runsIn(slot).flatMap((name) => this.get(keyOfName(name)) ?? []);
  }

  add(known: KnownRun): void {
    this.#table.add(known);
    if (known.slot) {
      this.#count(known, 1);
      this.#allocation.allocate(known.slot, known.name);
      this.#queue.hold(known, known.slot.gpu);
    }
    this.schedule(known);
  }

  /** Adds runs that nothing has happened to since they were queued. */
  restore(pages: readonly PackedRows[], requests: SharedRequests): void {
    const empty = { table: this.#table, queue: this.#queue, deadlines: this.#deadlines, requests };
    restoreRows(pages, empty, (known) => this.schedule(known));
  }

  /** All runs at this moment. */
  freeze(): FrozenRuns {
    return this.#table.freeze();
  }

  /** What is known of the run has changed by the fact with this head. A run that stays in its slot keeps its place too. */
  replace(before: KnownRun, after: KnownRun, head?: number): void {
    if (!after.slot || !isSameSlot(before.slot, after.slot) || before.shared !== after.shared) {
      this.remove(before, head);
      return this.add(after);
    }
    this.#count(before, -1);
    this.#table.replace(before, after);
    this.#count(after, 1);
    this.schedule(after);
  }

  /** `head` is that of the fact by which it ends, if there is one. */
  remove(known: KnownRun, head?: number): void {
    this.unschedule(known);
    this.releaseSlot(known, head);
    this.#table.remove(known);
  }

  /** A queued run waits for a slot, at once or later, and every run for its deadline. */
  schedule(known: KnownRun): void {
    if (known.run.status === 'queued') this.#wait(known);
    this.#deadlines.set(known.row, deadlineOf(known.run, this.#settings));
  }

  /** It waits for the slots that it may take by now, and for others later. */
  #wait(known: KnownRun): void {
    const { row, requirements, run } = known;
    const { warm_wait_s = 0 } = run.request;
    this.#forgetDelay(known);
    const anyFrom = warm_wait_s > 0 ? this.#timeAfter(known, warm_wait_s) : -Infinity;
    const holdsOut = anyFrom > this.#nowMs;
    if (!holdsOut && this.#queue.holdsOut(known)) this.#queue.endHoldOut(known);
    let next = holdsOut ? anyFrom : Infinity;
    for (const one of [{ after_s: 0, requirements }, ...requirements.later]) {
      const from = this.#timeAfter(known, one.after_s);
      if (from > this.#nowMs) {
        next = Math.min(next, from);
        break;
      }
      const isThere = this.#queue.waitsFor(known).some(({ gpu }) => gpu === one.requirements.gpu);
      if (!isThere) this.#queue.add(known, one.requirements, holdsOut);
    }
    if (next < Infinity) this.#changes.set(row, next);
    if (this.startsLater(known)) this.#delayed.add(known);
  }

  #forgetDelay(known: KnownRun): void {
    if (this.startsLater(known)) this.#delayed.remove(known);
    this.#changes.delete(known.row);
  }

  /** When it has waited so long, since it could start. */
  #timeAfter(known: KnownRun, seconds: number): number {
    if (known.run.not_before === null && seconds === 0) return -Infinity;
    return this.waitingSince(known) + seconds * 1_000;
  }

  /** It waits for neither a slot nor its deadline. */
  unschedule(known: KnownRun): void {
    this.#forgetDelay(known);
    this.#heldOutSince.delete(known.row);
    if (known.slot === undefined) this.#queue.remove(known);
    this.#deadlines.delete(known.row);
  }

  /** The decision is being stored: until then the run waits for neither a slot nor its deadline. */
  decide(known: KnownRun, decision: RunDecision): void {
    this.#table.keep(known);
    known.pending = decision;
    known.decided = true;
    this.unschedule(known);
  }

  /** It gets the slot because it is next. */
  allocateSlot(known: KnownRun, slot: HeldSlot): void {
    this.#table.keep(known);
    known.slot = slot;
    this.#heldOutSince.delete(known.row);
    this.#queue.start(known, slot.gpu);
    this.#count(known, 1);
    this.#allocation.allocate(slot, known.name);
  }

  /** Returns the slot that it held. */
  releaseSlot(known: KnownRun, head?: number): SlotRef | undefined {
    const { slot } = known;
    if (slot) {
      this.#count(known, -1);
      this.#allocation.release(slot, known.name);
      this.#queue.release(known, head);
    }
    known.slot = undefined;
    return slot;
  }

  /** The next run of this GPU model, of those that the executor can serve. `choose` is asked for those that hold out. */
  firstFor(
    gpu: GpuModel,
    capabilities: Capabilities,
    choose: (holdOut: HoldOut) => HoldOutChoice,
  ): KnownRun | undefined {
    const row = this.#queue.firstFor(gpu, capabilities, (holdOut, head) => {
      const choice = choose(holdOut);
      if (choice === 'leaves' && !this.#heldOutSince.has(head)) this.#heldOutSince.set(head, this.#nowMs);
      return choice === 'takes';
    });
    return row === undefined ? undefined : this.#table.at(row);
  }

  /** Whether it leaves slots to others that do not have its version loaded. */
  holdsOut(known: KnownRun): boolean {
    return this.#queue.holdsOut(known);
  }

  /** The first waiting runs of those that hold out for slots with this version. */
  nextHoldingOut(version: string): KnownRun[] {
    return this.#queue.nextHoldingOut(version).map((row) => this.#table.at(row));
  }

  /** Since when it has left free slots to others, by the broker's clock in milliseconds; undefined when it has not. */
  heldOutSince(known: KnownRun): number | undefined {
    return this.#heldOutSince.get(known.row);
  }

  /** The limit that keeps a waiting run from a slot now. */
  limitFor(known: KnownRun): Limit | undefined {
    return this.#queue.limitFor(known);
  }

  /** The limit that kept a waiting run from a slot last, as far as known. */
  lastLimitOf(known: KnownRun): Limit | undefined {
    return this.#queue.lastLimitOf(known);
  }

  /** Since when it could have had a slot, in milliseconds on the broker's clock. */
  waitingSince({ row, run }: KnownRun): number {
    const since = waitsSince(run);
    return since === run.created_at ? this.#table.createdMsOf(row) : timeOf(since);
  }

  /** Waiting runs that may be within their limits because this run has left its slot: the first of each kind. */
  nextAfter(known: KnownRun): KnownRun[] {
    return this.#queue.nextAfter(known).map((row) => this.#table.at(row));
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
    for (const row of this.#deadlines.take(now)) yield this.#table.at(row);
  }

  /** It waits for a time, and for no slot yet. */
  startsLater(known: KnownRun): boolean {
    return this.#changes.has(known.row) && !this.#queue.isIn(known);
  }

  /** Yields each run that waits for a slot, or for one of another GPU model, from now on. `now` is the broker's clock, in milliseconds. */
  *takeChanged(now: number): Generator<KnownRun> {
    this.#nowMs = now;
    for (const row of this.#changes.take(now)) {
      const known = this.#table.at(row);
      if (!this.#queue.isIn(known)) this.#delayed.remove(known);
      this.#wait(known);
      yield known;
    }
  }

  /** How many runs wait for a time, and for no slot yet. */
  delayed(): ReturnType<DelayedRuns['all']> {
    return this.#delayed.all();
  }

  /** The run of these deployments that has waited longest. */
  oldestOf(deployments: Iterable<Deployment>): KnownRun | undefined {
    const row = this.#queue.oldestOf(deployments);
    return row === undefined ? undefined : this.#table.at(row);
  }

  /** By GPU model. */
  pools(): ReadonlyMap<GpuModel, FairShare<Organisation>> {
    return this.#queue.pools();
  }

  *queues(): Generator<QueueLength> {
    for (const { gpu, length, oldest } of this.#queue.lengths()) {
      yield { gpu, length, oldest: waitsSince(this.#table.at(oldest).run) };
    }
  }
  /** A run that holds a slot. */
  #count({ run }: KnownRun, sign: 1 | -1): void {
    if (isExecuting(run)) this.#executing += sign;
    else this.#assigning += sign;
  }
}
