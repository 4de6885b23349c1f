import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { saveState } from './restore-state.ts';
import type { Position, Snapshot } from './snapshot-format.ts';

export interface SnapshotSaverOptions {
  readonly snapshotEveryMs: number;
  readonly snapshotEveryEvents: number;
  /** Of the stream, as the broker says it. */
  readonly created: string;
  /** Where the state comes from; undefined when it was rebuilt. */
  readonly restored: Position | undefined;
  /** What is known at this moment. */
  readonly state: () => Pick<Required<Snapshot>, 'runs' | 'drains'>;
}

export interface SnapshotSaver {
  /** The state holds everything up to this message. */
  taken(sequence: number, event_id: string | null): void;
  /** The state is another one at the same place in the log, so it is saved again. */
  changed(): void;
  /** Saves after so many events or so much time, whichever is first, until the signal is aborted. */
  saveOften(signal: AbortSignal): Promise<void>;
  /** Saves what has happened since. Never rejects: the next start merely reads more of the log. */
  saveLast(): Promise<void>;
}

/** Saves the state only while this scheduler leads: all schedulers derive the same. */
export const openSnapshotSaver = (log: EventLog, settings: SnapshotSaverOptions): SnapshotSaver => {
  const { snapshotEveryMs, snapshotEveryEvents, created, restored, state } = settings;
  let position = restored;
  let unsaved = false;
  let events = 0;
  let wake = (): void => undefined;

  const saveLast = async (): Promise<void> => {
    if (!unsaved) return;
    unsaved = false;
    events = 0;
    try {
      const { runs, drains } = state();
      await saveState(log, position ? { position, runs, drains } : { runs: [], drains });
    } catch (error) {
      unsaved = true;
      log.logger.warn(
        { err: error },
        'the state could not be saved; a start reads more of the log until it is',
      );
    }
  };
  const enough = (signal: AbortSignal): Promise<void> =>
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
        await enough(signal);
        if (!signal.aborted) await saveLast();
      }
    },
    saveLast,
  };
};
