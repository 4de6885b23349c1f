import type { EventLog } from '@runledger/event-log/connect/event-log';
import { decodeSnapshot, encodeSnapshot, type DecodedSnapshot, type Snapshot } from './snapshot-format.ts';
import { loadSnapshot, saveSnapshot } from './snapshot-store.ts';

const NAME = 'scheduler';

/** Replaces the snapshot of the scheduler's state. @throws {LogUnavailable} */
export const saveState = async (log: EventLog, snapshot: Snapshot): Promise<void> => {
  await saveSnapshot(log, NAME, () => encodeSnapshot(snapshot));
  const sequence = snapshot.position?.sequence ?? 0;
  log.logger.debug({ sequence, runs: snapshot.runs.length }, 'the state is saved');
};

/** The last saved snapshot; undefined when there is none. @throws {LogUnavailable} */
export const loadState = async (log: EventLog): Promise<DecodedSnapshot | undefined> => {
  const bytes = await loadSnapshot(log, NAME);
  return bytes && decodeSnapshot(bytes);
};
