import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Position, Snapshot } from './snapshot-format.ts';
import { saveState } from './stored-state.ts';

export interface SnapshotSaverOptions {
  readonly snapshotEveryMs: number;
  readonly snapshotEveryEvents: number;
  /** The broker's time of the creation of RUNS. */
  readonly created: string;
  /** Where the restored state ends; undefined when it is rebuilt. */
  readonly restored: Position | undefined;
  /** The state at this moment. */
  readonly state: () => Omit<Snapshot, 'position'>;
}

export interface SnapshotSaver {
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
export const openSnapshotSaver = (log: EventLog, options: SnapshotSaverOptions): SnapshotSaver => {
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
