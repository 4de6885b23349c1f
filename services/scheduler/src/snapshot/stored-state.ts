import type { EventLog } from '@runledger/event-log/connect/event-log';
import { decodeSnapshot, type DecodedSnapshot } from './decode-snapshot.ts';
import { encodeSnapshot } from './encode-snapshot.ts';
import type { Snapshot } from './snapshot-format.ts';
import { loadSnapshot, saveSnapshot } from './snapshot-store.ts';

const NAME = 'scheduler';

/** Replaces the snapshot of the scheduler's state, which is taken again for each try. @throws {LogUnavailable} */
export const saveState = async (log: EventLog, take: () => Snapshot): Promise<void> => {
  let saved: Snapshot | undefined;
  await saveSnapshot(log, NAME, () => {
    saved = take();
    return encodeSnapshot(saved);
  });
  const sequence = saved?.position?.sequence ?? 0;
  const runs = (saved?.runs.length ?? 0) + (saved?.rowCount ?? 0);
  log.logger.debug({ sequence, runs }, 'the state is saved');
};

/** The last saved snapshot; undefined when there is none. @throws {LogUnavailable} */
export const loadState = async (log: EventLog): Promise<DecodedSnapshot | undefined> => {
  const bytes = await loadSnapshot(log, NAME);
  return bytes && decodeSnapshot(bytes);
};
