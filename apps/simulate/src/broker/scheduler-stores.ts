import type { PackedRows } from '@runledger/scheduler/core/runs/packed-rows';
import type { KnownRun } from '@runledger/scheduler/core/runs/known-run';
import type { DrainedName } from '@runledger/scheduler/core/fleet';
import type { DurationRecord } from '@runledger/scheduler/core/durations';

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
export interface Snapshot {
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
