import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt, runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readStored } from '@runledger/event-log/read/run-messages';
import { eventIdOf } from '@runledger/contracts/fold/chain';
import type { KnownRun } from '../core/runs/known-run.ts';
import type { Scheduling } from '../core/scheduling.ts';
import type { SnapshotRun, Position, Snapshot } from './snapshot-format.ts';
import { loadState, saveState } from './snapshot-store.ts';

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

/**
 * Takes the last snapshot into an empty state. Returns the position after which to read the log; undefined when the snapshot
 * has no runs of this log. Drained names are facts of FLEET, so they count even if the runs are dropped: `fleetCreated`
 * distinguishes the present FLEET from another one. @throws {LogUnavailable}
 */
const restoreState = async (
  log: EventLog,
  scheduling: Scheduling,
  fleetCreated: string,
): Promise<Position | undefined> => {
  const stored = await loadState(log);
  if (!stored) {
    log.logger.info({}, 'there is no snapshot: the state is rebuilt from the whole log');
    return undefined;
  }
  const { drains, ...decoded } = stored;
  for (const drained of drains?.created === fleetCreated ? drains.names : []) {
    scheduling.take({ type: 'drained_name', drained });
  }
  const why = decoded.kind === 'invalid' ? decoded.why : await whyNotOfThisLog(log, decoded.position);
  if (why !== undefined || decoded.kind === 'invalid') {
    log.logger.warn({ why }, 'the runs of the snapshot are dropped, and rebuilt from the whole log');
    return undefined;
  }
  const { position, runs, rows, rowCount, durations } = decoded;
  scheduling.take({ type: 'durations', records: durations });
  scheduling.restore(rows);
  for (const run of runs) takeRun(scheduling, run);
  log.logger.info(
    { sequence: position?.sequence ?? 0, runs: runs.length + rowCount },
    'the state is restored from a snapshot',
  );
  return position;
};

const takeRun = (scheduling: Scheduling, { head, run, event_id }: SnapshotRun): void => {
  const { org_id, run_id } = run;
  const history = { head, state: run };
  scheduling.take({ type: 'run_fact', key: { org_id, run_id }, history, event_id, writer: 'gateway' });
};

/** The log must have that very event at that sequence, or the snapshot belongs to another log. */
const whyNotOfThisLog = async (
  log: EventLog,
  position: Position | undefined,
): Promise<string | undefined> => {
  if (!position) return undefined;
  const { created, sequence, event_id } = position;
  const identity = await runsIdentity(log, sequence);
  if (identity.created !== created) {
    return `its stream was created at ${created}, and this one at ${identity.created}`;
  }
  if (identity.lastSequence < sequence) {
    return `it ends at ${sequence}, and the log ends at ${identity.lastSequence}`;
  }
  const stored = await readStored(log, sequence);
  if (!stored) return `it ends with message ${sequence}, which is not in the log any more`;
  const found = eventIdOf(stored);
  return found === event_id ? undefined : `it ends with event ${event_id}, and the log has ${found} there`;
};

interface SnapshotSaverOptions {
  readonly snapshotEveryMs: number;
  readonly snapshotEveryEvents: number;
  /** The broker's time of the creation of RUNS. */
  readonly created: string;
  /** Where the restored state ends; undefined when it is rebuilt. */
  readonly restored: Position | undefined;
  /** The state at this moment. */
  readonly state: () => Omit<Snapshot, 'position'>;
}

interface SnapshotSaver {
  /** The state holds everything up to this message. */
  readonly taken: (sequence: number, event_id: string | null) => void;
  /** The state changed without a message of RUNS, so it is saved again. */
  readonly changed: () => void;
  /** Saves after `snapshotEveryEvents` or `snapshotEveryMs`, whichever comes first, until the signal is aborted. */
  readonly saveOften: (signal: AbortSignal) => Promise<void>;
  /** Saves what is not saved yet. It never rejects: without it the next start only reads more of the log. */
  readonly saveLast: () => Promise<void>;
}

const NO_RUNS = { runs: [], rows: [], rowCount: 0, durations: [] } as const;

/** Only the leading scheduler saves: all schedulers derive the same state. */
const openSnapshotSaver = (log: EventLog, options: SnapshotSaverOptions): SnapshotSaver => {
  const { snapshotEveryMs, snapshotEveryEvents, created, restored, state } = options;
  let position = restored;
  let unsaved = false;
  let events = 0;
  let wake = (): void => undefined;

  const saveLast = async (): Promise<void> => {
    if (!unsaved) return;
    unsaved = false;
    events = 0;
    try {
      await saveState(log, () => (position ? { position, ...state() } : { ...state(), ...NO_RUNS }));
    } catch (error) {
      unsaved = true;
      log.logger.warn(
        { err: error },
        'the state could not be saved; until it is, a start reads more of the log',
      );
    }
  };
  const untilDue = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      void pause(snapshotEveryMs, undefined, { signal }).then(resolve, () => resolve());
    });
  return {
    taken: (sequence, event_id) => {
      position = { stream: 'RUNS', created, sequence, event_id };
      unsaved = true;
      events += 1;
      if (events >= snapshotEveryEvents) wake();
    },
    changed: () => {
      unsaved = true;
    },
    saveOften: async (signal) => {
      while (!signal.aborted) {
        await untilDue(signal);
        if (!signal.aborted) await saveLast();
      }
    },
    saveLast,
  };
};
