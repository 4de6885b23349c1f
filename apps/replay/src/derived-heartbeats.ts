import { isDeepStrictEqual } from 'node:util';
import type { FleetEvent, Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import type { RunnerChoice } from '@runledger/contracts/catalogue/runners';
import type { ForeseenAssignment } from './foresight.ts';

/** How long after its registration an executor's first heartbeat came, at most. */
const FIRST_WITHIN_MS = 1_000;
/** A loss is stored so long after the period is over, at least: the scheduler must have ticked. */
const LOSS_TAKES_MS = 500;

interface DerivedHeartbeatsOptions {
  readonly periodMs: number;
  /** When executors were declared lost, by id, in their order. Milliseconds since 1970. */
  readonly losses: ReadonlyMap<string, readonly number[]>;
}

interface SlotOfExecutor {
  readonly executor_id: string;
  readonly slot: number;
}

/** A workflow version, and the runner that executes it. */
interface Version {
  readonly version: string;
  readonly runner: RunnerChoice;
}

/** A heartbeat, and when it comes. Milliseconds since 1970. */
export interface DerivedHeartbeat {
  readonly heartbeat: Heartbeat;
  readonly atMs: number;
}

/**
 * The heartbeats that executors must have sent, since the log does not hold any. Each sends them from its registration until it left, or
 * until a period before it was lost. What a heartbeat lists follows from the facts of runs. When exactly one came is unknown, so what it
 * says counts as late as it can, or when a recorded decision shows that it was known.
 */
export class DerivedHeartbeats {
  readonly #options: DerivedHeartbeatsOptions;
  readonly #living = new Map<string, LivingExecutor>();
  /** The assignments that the slice holds a little further on, by executor. */
  readonly #foreseen = new Map<string, ForeseenAssignment[]>();
  /** When heartbeats are due that assignments further on show, by executor. */
  readonly #hurried = new Map<string, number>();

  constructor(options: DerivedHeartbeatsOptions) {
    this.#options = options;
  }

  /** When `due` has something that cannot wait; Infinity for nothing. */
  get hurriedMs(): number {
    return Math.min(...this.#hurried.values());
  }

  foresee(assignment: ForeseenAssignment, nowMs: number): void {
    const { executor_id } = assignment;
    this.#foreseen.set(executor_id, [...(this.#foreseen.get(executor_id) ?? []), assignment]);
    this.#hurry(executor_id, nowMs);
  }

  onFleetFact(event: FleetEvent, nowMs: number): void {
    if ('executor_name' in event) return;
    const { executor_id: id } = event;
    const known = this.#living.get(id);
    switch (event.type) {
      case 'ExecutorRegistered': {
        const times = { nextMs: nowMs + FIRST_WITHIN_MS, lastMs: this.#lastAfter(id, nowMs) };
        this.#living.set(id, livingExecutor(id, times, known));
        return this.#hurry(id, nowMs);
      }
      case 'ExecutorDraining':
        if (known) known.draining = true;
        return;
      case 'ExecutorLeft':
      case 'ExecutorLost':
        this.#living.delete(id);
        this.#hurried.delete(id);
    }
  }

  onAssigned({ run_id, attempt, executor_id, data }: RunEventOf<'RunAssigned'>): void {
    const [, ...later] = this.#foreseen.get(executor_id ?? '') ?? [];
    if (later.length > 0) this.#foreseen.set(executor_id ?? '', later);
    else this.#foreseen.delete(executor_id ?? '');
    const executor = this.#living.get(executor_id ?? '');
    if (!executor) return;
    executor.leftovers.delete(data.slot);
    executor.held.set(data.slot, { run_id, attempt });
    const loaded = executor.loaded.get(data.slot);
    // A slot keeps one process, which executes another version now.
    if (
      loaded &&
      loaded.version !== data.workflow_version_id &&
      isDeepStrictEqual(loaded.runner, data.runner)
    )
      executor.loaded.delete(data.slot);
  }

  onLoaded({ executor_id, slot }: SlotOfExecutor, { version, runner }: Version, nowMs: number): void {
    const loaded = this.#living.get(executor_id)?.loaded;
    if (loaded?.get(slot)?.version === version) return;
    loaded?.set(slot, { version, runner, fromMs: nowMs + this.#everyMs });
    this.#hurry(executor_id, nowMs);
  }

  /** What an executor has begun is on its disk. */
  onPrepared({ executor_id }: Pick<SlotOfExecutor, 'executor_id'>, version: string): void {
    this.#living.get(executor_id)?.prepared.add(version);
  }

  /** The attempt has ended. `isConfirmed`: its executor said so. Otherwise its next heartbeat confirms it. */
  onEnded(
    { executor_id, slot }: SlotOfExecutor,
    run_id: string,
    { isConfirmed, nowMs }: { readonly isConfirmed: boolean; readonly nowMs: number },
  ): void {
    const executor = this.#living.get(executor_id);
    const attempt = executor?.held.get(slot);
    if (!executor || attempt?.run_id !== run_id) return;
    executor.held.delete(slot);
    if (!isConfirmed)
      executor.leftovers.set(slot, {
        ...attempt,
        endedMs: nowMs,
        untilMs: nowMs + this.#everyMs,
      });
    this.#hurry(executor_id, nowMs);
  }

  /** After a reset no executor gets a run before its next heartbeat. */
  onReset(nowMs: number): void {
    for (const executor of this.#living.values()) {
      executor.isConfirmed = executor.isNew = false;
      executor.nextMs = Math.min(nowMs + this.#everyMs, executor.lastMs);
      this.#hurry(executor.id, nowMs);
    }
  }

  /** Those that have come by now. */
  *due(nowMs: number): Generator<DerivedHeartbeat> {
    for (const [id, dueMs] of this.#hurried) if (dueMs <= nowMs) this.#hurried.delete(id);
    for (const executor of this.#living.values()) {
      const { nextMs, lastMs } = executor;
      if (nowMs >= nextMs && nextMs <= lastMs) yield this.#send(executor, nowMs);
    }
  }

  /** The slot has taken a run, so the executor had confirmed that nothing else uses it. Its heartbeat, if that says something new. */
  takenSlot({ executor_id, slot }: SlotOfExecutor, nowMs: number): DerivedHeartbeat[] {
    const executor = this.#living.get(executor_id);
    if (!executor) return [];
    const wasLeftover = executor.leftovers.delete(slot);
    return wasLeftover || !executor.isConfirmed ? [this.#send(executor, nowMs)] : [];
  }

  /** The version is loaded in the slot: its heartbeat, if that says something new. */
  isLoaded(
    { executor_id, slot }: SlotOfExecutor,
    { version, runner }: Version,
    nowMs: number,
  ): DerivedHeartbeat[] {
    const executor = this.#living.get(executor_id);
    const before = executor?.loaded.get(slot);
    if (!executor || (before?.version === version && before.fromMs <= nowMs)) return [];
    executor.loaded.set(slot, { version, runner, fromMs: nowMs });
    return [this.#send(executor, nowMs)];
  }

  /** The version was not loaded in any free slot: the heartbeats of those that seemed to have it. */
  notLoaded(version: string, nowMs: number): DerivedHeartbeat[] {
    return [...this.#living.values()].flatMap((executor) => {
      const wrong = [...executor.loaded].filter(
        ([slot, one]) => one.version === version && one.fromMs <= nowMs && !executor.held.has(slot),
      );
      for (const [slot] of wrong) executor.loaded.delete(slot);
      return wrong.length > 0 ? [this.#send(executor, nowMs)] : [];
    });
  }

  /** The executor had prepared the version: its heartbeat, if that says something new. */
  isPrepared({ executor_id }: SlotOfExecutor, version: string, nowMs: number): DerivedHeartbeat[] {
    const executor = this.#living.get(executor_id);
    if (!executor || executor.prepared.has(version)) return [];
    executor.prepared.add(version);
    return [this.#send(executor, nowMs)];
  }

  /** No executor with a free slot had prepared the version: the heartbeats of those that seemed to have it. */
  notPrepared(version: string, nowMs: number): DerivedHeartbeat[] {
    const wrong = [...this.#living.values()].filter(({ prepared }) => prepared.delete(version));
    return wrong.map((executor) => this.#send(executor, nowMs));
  }

  /** The slot was not free, if the executor may not have confirmed that its last attempt had ended: the heartbeat that says so. */
  keepLeftover({ executor_id, slot }: SlotOfExecutor, nowMs: number): DerivedHeartbeat[] {
    const executor = this.#living.get(executor_id);
    const leftover = executor?.leftovers.get(slot);
    if (!executor || !leftover || leftover.untilMs === Infinity) return [];
    executor.leftovers.set(slot, { ...leftover, untilMs: Infinity });
    return [this.#send(executor, nowMs)];
  }

  /** What assignments further on show comes in time for them. */
  #hurry(executor_id: string, nowMs: number): void {
    const executor = this.#living.get(executor_id);
    const taken = new Set<number>();
    for (const assignment of executor ? (this.#foreseen.get(executor_id) ?? []) : []) {
      // What a slot is when it takes a run says nothing of the time before it took another one.
      if (!executor || taken.has(assignment.slot)) continue;
      taken.add(assignment.slot);
      const dueMs = shownBy(executor, assignment, { nowMs, changeTakesMs: this.#options.periodMs / 24 });
      if (dueMs === Infinity) continue;
      executor.nextMs = Math.min(executor.nextMs, dueMs);
      this.#hurried.set(executor_id, Math.min(this.#hurried.get(executor_id) ?? Infinity, dueMs));
    }
  }

  get #everyMs(): number {
    return this.#options.periodMs / 3;
  }

  #send(executor: LivingExecutor, nowMs: number): DerivedHeartbeat {
    const { lastMs } = executor;
    executor.count += 1;
    executor.isConfirmed = true;
    executor.isNew = false;
    executor.nextMs = nowMs < lastMs ? Math.min(nowMs + this.#everyMs, lastMs) : Infinity;
    confirmEnds(executor, nowMs, this.#options.periodMs / 24);
    const heartbeat = heartbeatOf(executor, nowMs);
    this.#hurried.delete(executor.id);
    this.#hurry(executor.id, nowMs);
    // What is known from a later fact was in the last heartbeat, or before it.
    return { heartbeat, atMs: Math.min(nowMs, lastMs) };
  }

  /** When the executor that registers now sends its last heartbeat. */
  #lastAfter(id: string, nowMs: number): number {
    const lostMs = this.#options.losses.get(id)?.find((ms) => ms > nowMs);
    return lostMs === undefined ? Infinity : lostMs - this.#options.periodMs - LOSS_TAKES_MS;
  }
}

/** From a cause to its effect, if nothing is slow. */
const SOON_MS = 20;
/** An assignment is stored so long after the heartbeat that made it possible, at most; else that heartbeat came earlier. */
const ASSIGNED_WITHIN_MS = 300;

interface ShownAt {
  readonly nowMs: number;
  /** From a change of what is loaded to the heartbeat that says it. */
  readonly changeTakesMs: number;
}

/**
 * When the heartbeat came at the latest that made an assignment possible, which the slice holds a little further on; Infinity when nothing
 * shows one. What the heartbeat says is noted: what is loaded, and that an attempt has ended. Milliseconds since 1970.
 */
const shownBy = (
  executor: LivingExecutor,
  { slot, version, isWarm, atMs }: ForeseenAssignment,
  { nowMs, changeTakesMs }: ShownAt,
): number => {
  const dues = [confirmedAt(executor, atMs, nowMs)];
  const leftover = executor.leftovers.get(slot);
  if (leftover && leftover.untilMs > nowMs) {
    const untilMs = Math.max(nowMs, Math.min(leftover.untilMs, atMs - ASSIGNED_WITHIN_MS));
    executor.leftovers.set(slot, { ...leftover, untilMs });
    dues.push(untilMs);
  }
  const loaded = executor.loaded.get(slot);
  if (isWarm && loaded && loaded.version === version && loaded.fromMs > nowMs) {
    const fromMs = Math.min(loaded.fromMs, nowMs + changeTakesMs);
    executor.loaded.set(slot, { ...loaded, fromMs });
    dues.push(fromMs);
  }
  return Math.min(...dues);
};

/** A new executor sends one at once. After a reset the others wait for theirs, which is the cause of the assignment then. */
const confirmedAt = ({ isConfirmed, isNew, nextMs }: LivingExecutor, atMs: number, nowMs: number): number => {
  if (isConfirmed) return Infinity;
  return isNew ? Math.min(nowMs + SOON_MS, nextMs) : Math.max(nowMs, Math.min(atMs - SOON_MS, nextMs));
};

interface HeldByAttempt {
  readonly run_id: string;
  readonly attempt: number;
}

/** The log says that the attempt has ended, and its executor has not said it. */
interface LeftoverAttempt extends HeldByAttempt {
  readonly endedMs: number;
  /** Its heartbeats list it until then. Milliseconds since 1970. */
  readonly untilMs: number;
}

interface LoadedVersion {
  readonly version: string;
  /** What keeps it loaded. */
  readonly runner: RunnerChoice;
  /** Its heartbeats list it from then on. */
  readonly fromMs: number;
}

/** An executor that sends heartbeats. Times are in milliseconds since 1970. */
interface LivingExecutor {
  readonly id: string;
  draining: boolean;
  /** Of the heartbeats. */
  count: number;
  /** The scheduler has had one since it registered, or since the last reset. */
  isConfirmed: boolean;
  /** It registered, and its first one comes at once. */
  isNew: boolean;
  /** When its next heartbeat comes, at the latest. */
  nextMs: number;
  /** When its last one came, as the fact of its loss says; Infinity for one that was not lost. */
  readonly lastMs: number;
  /** By slot. */
  readonly held: Map<number, HeldByAttempt>;
  /** By slot, until the slot takes another run. */
  readonly leftovers: Map<number, LeftoverAttempt>;
  /** By slot. */
  readonly loaded: Map<number, LoadedVersion>;
  /** The versions that decisions show it to have prepared. */
  readonly prepared: Set<string>;
}

/** It registers; `known` is what it was before, when it registers again. */
const livingExecutor = (
  id: string,
  times: Pick<LivingExecutor, 'nextMs' | 'lastMs'>,
  known?: LivingExecutor,
): LivingExecutor => ({
  id,
  ...times,
  draining: false,
  count: known?.count ?? 0,
  isConfirmed: false,
  isNew: true,
  held: known?.held ?? new Map(),
  leftovers: known?.leftovers ?? new Map(),
  loaded: known?.loaded ?? new Map(),
  prepared: known?.prepared ?? new Set(),
});

/** The heartbeat that confirms the end of one attempt confirms all that had ended before, but for those that end while it is sent. */
const confirmEnds = ({ leftovers }: LivingExecutor, nowMs: number, takesMs: number): void => {
  if (!leftovers.values().some(({ untilMs }) => untilMs <= nowMs)) return;
  for (const [slot, leftover] of leftovers)
    if (leftover.untilMs !== Infinity && leftover.endedMs + takesMs <= nowMs)
      leftovers.set(slot, { ...leftover, untilMs: Math.min(leftover.untilMs, nowMs) });
};

const heartbeatOf = (
  { id, count, draining, held, leftovers, loaded, prepared }: LivingExecutor,
  nowMs: number,
): Heartbeat => ({
  executor_id: id,
  count,
  draining,
  runs: [...held, ...[...leftovers].filter(([, { untilMs }]) => nowMs < untilMs)].map(
    ([slot, { run_id, attempt }]) => ({ slot, run_id, attempt }),
  ),
  loaded: [...loaded]
    .filter(([, { fromMs }]) => nowMs >= fromMs)
    .map(([slot, { version }]) => ({ slot, workflow_version_id: version })),
  ...(prepared.size > 0 && { prepared: [...prepared] }),
});
