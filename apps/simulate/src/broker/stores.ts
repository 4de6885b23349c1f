import type { PackedRows } from '@runledger/scheduler/core/runs/packed-rows';
import type { KnownRun } from '@runledger/scheduler/core/runs/known-run';
import type { DrainedName } from '@runledger/scheduler/core/fleet';
import type { DurationRecord } from '@runledger/scheduler/core/durations';
import type { StoredView } from '@runledger/gateway/views/run-view';
import { isAt, type ProjectionPosition } from '@runledger/gateway/views/projection-start.decide';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import type { Timeline } from '../virtual-time.ts';
import type { LoggedMessage } from './run-log.ts';

/** How long it takes to store and to read something, at most: as a rule, and while it is slow. */
const DELAY_MS = 50;
const SLOW_MS = 45_000;

/** A range that somebody archives. Nobody else does while the archive has this revision. */
interface Claim {
  readonly upTo: number;
  readonly revision: number;
}

interface ArchivePosition {
  /** Up to where the log is archived, or lost. */
  readonly sequence: number;
  readonly revision: number;
  /** Up to where somebody began to archive it. */
  readonly claimed: number | undefined;
}

/** What left the log, with the position up to which it is archived: as services/gateway/src/archive, without segments. */
export class ArchiveStore {
  readonly #timeline: Timeline;
  readonly #runs = new Map<string, LoggedMessage[]>();
  #sequence = 0;
  #revision = 0;
  #claimed: number | undefined;
  #downUntil = 0;
  #slowUntil = 0;
  onSealed: (messages: readonly LoggedMessage[]) => void = () => undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  get position(): ArchivePosition {
    return { sequence: this.#sequence, revision: this.#revision, claimed: this.#claimed };
  }

  messagesOf(run_id: string): readonly LoggedMessage[] {
    return this.#runs.get(run_id) ?? [];
  }

  /** Of which it has a message behind the sequence. */
  runsBehind(sequence: number): string[] {
    const runs = [...this.#runs].filter(([, messages]) => (messages.at(-1)?.sequence ?? 0) > sequence);
    return runs.map(([run_id]) => run_id);
  }

  /** Undefined when another one has moved the position since. */
  claim(upTo: number, revision: number): Claim | undefined {
    if (revision !== this.#revision) return undefined;
    this.#revision += 1;
    this.#claimed = upTo;
    return { upTo, revision: this.#revision };
  }

  /** The messages count from then on. They are all that the log had in the claimed range. */
  seal({ upTo, revision }: Claim, messages: readonly LoggedMessage[]): void {
    if (revision !== this.#revision) return;
    for (const message of messages) {
      const { run_id } = message.key;
      this.#runs.set(run_id, [...this.messagesOf(run_id), message]);
    }
    this.#moveTo(upTo);
    this.onSealed(messages);
  }

  /** What was before the log's first message is lost, unless it is archived or somebody archives it. */
  passLost(firstSequence: number): void {
    if (this.#claimed === undefined && this.#sequence < firstSequence - 1) this.#moveTo(firstSequence - 1);
  }

  #moveTo(sequence: number): void {
    this.#revision += 1;
    this.#sequence = sequence;
    this.#claimed = undefined;
  }

  fail(forMs: number): void {
    this.#downUntil = Math.max(this.#downUntil, this.#timeline.now + forMs);
  }

  slow(forMs: number): void {
    this.#slowUntil = Math.max(this.#slowUntil, this.#timeline.now + forMs);
  }

  get isDown(): boolean {
    return this.#downUntil > this.#timeline.now;
  }

  /** How long an object is under way. */
  delayMs(fraction: number): number {
    return fraction * (this.#slowUntil > this.#timeline.now ? SLOW_MS : DELAY_MS);
  }
}

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
