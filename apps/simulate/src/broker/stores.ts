import type { PackedRows } from '@runledger/scheduler/core/runs/packed-rows';
import type { KnownRun } from '@runledger/scheduler/core/runs/known-run';
import type { DrainedName } from '@runledger/scheduler/core/fleet';
import type { DurationRecord } from '@runledger/scheduler/core/durations';
import type { StoredView } from '@runledger/gateway/views/run-view';
import { isAt, type ProjectionPosition } from '@runledger/gateway/views/projection-start.decide';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { organisationOf } from '../plan/ids.ts';
import type { Timeline } from '../virtual-time.ts';
import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** How long it takes to store and to read something, at most: as a rule, and while it is slow. */
const DELAY_MS = 50;
const SLOW_MS = 45_000;

/** What left the log, an object for each run, and how far it is archived: as services/gateway/src/archive. */
export class ArchiveStore {
  readonly #timeline: Timeline;
  readonly #objects = new Map<string, readonly StoredMessage[]>();
  #position = { sequence: 0, revision: 0 };
  #downUntil = 0;
  #slowUntil = 0;
  /** Organisations of which a run could not be archived, and the first message that may not be. */
  readonly behind = new Map<string, number>();
  onStored: (run_id: string) => void = () => undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** Everything of a run up to there is in its object, unless its organisation is behind. */
  get position(): { readonly sequence: number; readonly revision: number } {
    return this.#position;
  }

  /** False when another one has moved it since. */
  moveTo(sequence: number, revision: number): boolean {
    if (revision !== this.#position.revision) return false;
    this.#position = { sequence, revision: revision + 1 };
    return true;
  }

  /** What was before the log's first message is lost. */
  passLost(firstSequence: number): void {
    const { sequence, revision } = this.#position;
    if (sequence < firstSequence - 1) this.moveTo(firstSequence - 1, revision);
  }

  messagesOf(run_id: string): readonly StoredMessage[] {
    return this.#objects.get(run_id) ?? [];
  }

  put(run_id: string, messages: readonly StoredMessage[]): void {
    this.#objects.set(run_id, messages);
    this.onStored(run_id);
  }

  get runs(): string[] {
    return [...this.#objects.keys()];
  }

  fail(forMs: number): void {
    this.#downUntil = Math.max(this.#downUntil, this.#timeline.now + forMs);
  }

  slow(forMs: number): void {
    this.#slowUntil = Math.max(this.#slowUntil, this.#timeline.now + forMs);
  }

  /** Objects of this organisation cannot be read or written. */
  isDown(org_id: string): boolean {
    return this.#downUntil > this.#timeline.now && isHit(org_id);
  }

  /** How long an object of it is under way. */
  delayMs(org_id: string, fraction: number): number {
    return fraction * (this.#slowUntil > this.#timeline.now && isHit(org_id) ? SLOW_MS : DELAY_MS);
  }
}

/** Objects of every other organisation fail: the others go on. */
const isHit = (org_id: string): boolean => organisationOf(org_id) % 2 === 0;

/** The lease `scheduler`: whoever writes at its revision holds it. */
export class LeaseStore {
  #revision = 0;
  #holder = '';

  get last(): { readonly revision: number; readonly holder: string } {
    return { revision: this.#revision, holder: this.#holder };
  }

  /** The new revision, or false when another process wrote first. An empty holder releases it. */
  write(holder: string, revision: number): number | false {
    if (revision !== this.#revision) return false;
    this.#revision += 1;
    this.#holder = holder;
    return this.#revision;
  }
}

/** The state of a scheduler, without what it has of executors. */
interface Snapshot {
  /** The last message of RUNS in it. */
  readonly sequence: number;
  /** Those to which nothing has happened since they were queued. */
  readonly rows: readonly PackedRows[];
  readonly runs: readonly Pick<KnownRun, 'key' | 'head' | 'event_id' | 'run'>[];
  readonly drained: readonly DrainedName[];
  readonly durations: readonly DurationRecord[];
}

export class SnapshotStore {
  last: Snapshot | undefined;
}

/** The views of runs, as services/gateway/src/views/run-views.ts says: what is stored stays when the gateway is killed. */
export class ViewStore {
  position: ProjectionPosition | undefined;
  #views = new Map<string, StoredView>();

  find(run_id: string): StoredView | undefined {
    return this.#views.get(run_id);
  }

  /** A stale view changes nothing. */
  save(views: readonly StoredView[]): void {
    for (const view of views) {
      const { run_id } = view.run;
      if ((this.find(run_id)?.head ?? 0) > view.head) continue;
      this.#views.set(run_id, view);
    }
  }

  /** False when the position is another one than `from`. */
  advance(views: readonly StoredView[], from: ProjectionPosition, to: ProjectionPosition): boolean {
    if (!isAt(this.position, from)) return false;
    this.save(views);
    this.position = to;
    return true;
  }

  /** All views are derived again: what the log does not have any more stays. */
  resetTo(beginning: ProjectionPosition): void {
    for (const [run_id, view] of this.#views) this.#views.set(run_id, { ...view, head: 0 });
    this.position = beginning;
  }

  /** Runs that have not ended. */
  open(): StoredView[] {
    return [...this.#views.values()].filter(({ run }) => !isDeleted(run) && !isEnded(run));
  }

  /** A copy of everything. Returns what restores it. */
  copy(): () => void {
    const [position, views] = [this.position, new Map(this.#views)];
    return () => {
      this.position = position;
      this.#views = new Map(views);
    };
  }
}
