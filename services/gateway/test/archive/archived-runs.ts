import { readGatewayConfig } from '../../src/config.ts';
import { A_SECRET_KEY } from '../fixtures/gateway/a-gateway.ts';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { createdAt } from '@runledger/event-log/read/stream-identity';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { waitFor } from '@runledger/testing/wait-for';
import { readWholeSegment } from '../../src/archive/read-segment.ts';
import { archiveRound, type ArchiveRoundOptions } from '../../src/archive/archive-round.ts';
import { openArchiveObjects, type ArchiveObjects } from '../../src/archive/archive-objects.ts';
import {
  archiveRecords,
  positionKey,
  SEGMENTS,
  type ArchivePosition,
  type SegmentRecord,
} from '../../src/archive/archive-records.ts';
import type { TestBed } from '../fixtures/gateway/test-bed.ts';

/** Facts are archived some milliseconds after they were stored. */
export const ARCHIVES_AT_ONCE = { RUNLEDGER_ARCHIVE_AFTER_HOURS: '0.000001' };

/** Of a bed without a gateway: the objects are in the broker. */
export const objectsOf = (log: EventLog): ArchiveObjects => {
  const config = readGatewayConfig({ RUNLEDGER_SECRET_KEYS: A_SECRET_KEY, RUNLEDGER_ARCHIVE: 'jetstream' });
  const objects = openArchiveObjects(config, { log, logger: silentLogger, now: () => new Date() });
  if (!objects) throw new Error('there is an archive');
  return objects;
};

/** Archives all that the log has, as a gateway does. */
export const archiveAll = (log: EventLog, options: Partial<ArchiveRoundOptions> = {}): Promise<void> =>
  archiveRound(
    {
      log,
      records: archiveRecords(log),
      objects: objectsOf(log),
      afterMs: 0,
      pace: async () => undefined,
      isErased: async () => false,
      onSealed: () => undefined,
      onLost: () => undefined,
      onWentBack: () => undefined,
      ...options,
    },
    new AbortController().signal,
  );

export const positionOf = async (log: EventLog): Promise<ArchivePosition | undefined> =>
  (await archiveRecords(log).positions.get(positionKey(await createdAt(log, 'RUNS'))))?.value;

/** Waits until everything that the log has now is archived. */
export const archivedUpTo = async ({ log }: Pick<TestBed, 'log'>): Promise<void> => {
  const { state } = await log.jsm.streams.info('RUNS');
  await waitFor('the archive', async () => {
    const position = await positionOf(log);
    return position !== undefined && position.sealing === null && position.sequence >= state.last_seq;
  });
};

export const segmentsIn = async (log: EventLog): Promise<SegmentRecord[]> =>
  (await archiveRecords(log).segments.list(SEGMENTS)).map(({ value }) => value);

/** What all segments say, as text: to look for what must not be in it. */
export const textOfSegments = async (log: EventLog): Promise<string> => {
  const objects = objectsOf(log);
  const texts: string[] = [];
  for (const segment of await segmentsIn(log)) {
    const read = await objects.find(segment.object);
    if (!read) throw new Error(`segment ${segment.object} has no object`);
    texts.push(JSON.stringify(await readWholeSegment(segment, read)));
  }
  return texts.join('\n');
};

/** How many objects there are. */
export const objectsIn = async (log: EventLog): Promise<number> => {
  const { state } = await log.jsm.streams.info('OBJ_ARCHIVE', { subjects_filter: '$O.ARCHIVE.M.>' });
  return Object.keys(state.subjects ?? {}).length;
};

/** The archive cannot be read any more. Resolves with how to put its objects back. */
export const takeObjectsAway = async (log: EventLog): Promise<() => Promise<void>> => {
  const objects = objectsOf(log);
  const taken: { readonly key: string; readonly bytes: Buffer }[] = [];
  for (const { object: key, bytes: length } of await segmentsIn(log)) {
    const read = await objects.find(key);
    if (!read) throw new Error('the segment has an object');
    taken.push({ key, bytes: await read({ offset: 0, bytes: length }) });
    await objects.remove(key);
  }
  return async () => {
    for (const { key, bytes } of taken) await objects.put(key, bytes);
  };
};
