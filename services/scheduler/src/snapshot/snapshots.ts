import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import type { KnownRun } from '../core/runs/known-run.ts';
import type { Scheduling } from '../core/scheduling.ts';
import { restoreState } from './restore-state.ts';
import type { SnapshotRun } from './snapshot-format.ts';
import { openSnapshotSaver, type SnapshotSaver, type SnapshotSaverOptions } from './snapshot-saver.ts';

export interface Snapshots extends SnapshotSaver {
  /** The sequence in RUNS that the restored state ends with; undefined when it is rebuilt from the whole log. */
  readonly restoredUpTo: number | undefined;
}

/** Restores the state from the last snapshot, and saves it from then on. @throws {LogUnavailable} */
export const openSnapshots = async (
  log: EventLog,
  scheduling: Scheduling,
  settings: Pick<SnapshotSaverOptions, 'snapshotEveryMs' | 'snapshotEveryEvents'>,
): Promise<Snapshots> => {
  const created = await createdAt(log, 'RUNS');
  const fleetCreated = await createdAt(log, 'FLEET');
  const restored = await restoreState(log, scheduling, fleetCreated);
  const saver = openSnapshotSaver(log, {
    ...settings,
    created,
    restored,
    state: () => {
      const { kept, rows, rowCount } = scheduling.freeze();
      return {
        runs: kept.map(snapshotRun),
        rows,
        rowCount,
        durations: scheduling.durations(),
        drains: { created: fleetCreated, names: [...scheduling.drainedNames()] },
      };
    },
  });
  return { ...saver, restoredUpTo: restored?.sequence };
};

/** Every run that has not ended, at this moment. */
export const liveRunsOf = (scheduling: Scheduling): SnapshotRun[] => [...scheduling.runs()].map(snapshotRun);

const snapshotRun = ({ head, event_id, run }: KnownRun): SnapshotRun => ({ head, event_id, run });
