import type { RunKey } from '@runledger/contracts/events/subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createdAt } from '@runledger/event-log/read/stream-identity';
import type { Entry } from '@runledger/event-log/streams/bucket';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { NO_OUTPUTS } from '@runledger/contracts/fold/run';
import {
  erasureKey,
  ERASURES,
  logName,
  positionKey,
  describedBy,
  verifyObject,
  listSegments,
  type ArchivedErasure,
  type ArchivePosition,
  type ArchiveRecords,
  type SegmentRecord,
} from './archive-records.ts';
import {
  isTombstone,
  messageOfLine,
  runIdOf,
  tombstoneOf,
  withoutContent,
  DamagedSegment,
  type SegmentLine,
} from './segment-line.ts';
import { readWholeSegment } from './read-segment.ts';
import { packSegment, mayHaveRun } from './pack-segment.ts';
import { ArchiveUnavailable, objectKey, type ArchiveObjects } from './archive-objects.ts';

/** Notes that a run, or its outputs, were deleted by the fact at this sequence: from then on nobody reads it in the archive. */
export type NoteErasure = (key: RunKey, what: ArchivedErasure['what'], sequence: number) => Promise<void>;

/** It is stored when this resolves, and done in the next round. @throws {LogUnavailable} */
export const noteErasure =
  (log: EventLog, records: ArchiveRecords): NoteErasure =>
  async ({ org_id, run_id }, what, sequence) => {
    const created = await createdAt(log, 'RUNS');
    const position = (await records.positions.get(positionKey(created)))?.value;
    const name = logName(position ?? { log_created: created, branch: 0 });
    const erasure = { org_id, run_id, what, log: name, sequence, swept_to: null };
    await records.erasures.create(erasureKey(erasure), erasure);
  };

/** Of one organisation in a step. */
const AT_ONCE = 1_000;

/**
 * Takes what was deleted out of the segments. What is archived later is looked at again when it is. @throws {LogUnavailable}
 * @throws {ArchiveUnavailable}
 */
export const eraseArchived = async (log: EventLog, store: Store, stop: AbortSignal): Promise<void> => {
  const { records } = store;
  const position = (await records.positions.get(positionKey(await createdAt(log, 'RUNS'))))?.value;
  let together: Entry<ArchivedErasure>[] = [];
  for (let behind = 0; !stop.aborted;) {
    const next = await records.erasures.next(ERASURES, behind);
    const isOther = next?.value.org_id !== together[0]?.value.org_id;
    if (together.length > 0 && (isOther || together.length >= AT_ONCE)) {
      await eraseTogether(store, together, position);
      together = [];
    }
    if (!next) return;
    behind = next.revision;
    if (isDue(next.value, position)) together.push(next);
  }
};

/** After a look at the segments up to this position nothing changes until there are more. */
const isDue = ({ swept_to }: ArchivedErasure, position: ArchivePosition | undefined): boolean =>
  swept_to === null || (position !== undefined && position.sequence > swept_to);

const eraseTogether = async (
  store: Store,
  together: readonly Entry<ArchivedErasure>[],
  position: ArchivePosition | undefined,
): Promise<void> => {
  const { erasures } = store.records;
  const org_id = together[0]?.value.org_id;
  if (org_id === undefined) return;
  await eraseFromSegments(store, org_id, byRun(together.map(({ value }) => value)));
  const swept_to = position?.sequence ?? 0;
  for (const { key, value, revision } of together) {
    const isOfThisLog = position === undefined || value.log === logName(position);
    if (isOfThisLog && swept_to < value.sequence)
      await erasures.update(key, { ...value, swept_to }, revision);
    else await erasures.eraseAt(key, revision);
  }
};

/** What to erase of the runs of one organisation, by run. A deleted run had all that its deleted outputs had. */
type ErasedRuns = ReadonlyMap<string, readonly ArchivedErasure[]>;

const byRun = (erasures: readonly ArchivedErasure[]): ErasedRuns =>
  Map.groupBy(erasures, ({ run_id }) => run_id);

/** What to erase in a segment. In that of another log everything is, since positions mean nothing there. */
const erasuresFor = ({ log }: SegmentRecord, erased: ErasedRuns): ErasedRuns =>
  new Map(
    [...erased].map(([run_id, erasures]) => [
      run_id,
      erasures.map((one) => (one.log === log ? one : { ...one, sequence: Infinity })),
    ]),
  );

/** The line as the archive may keep it: the same one when nothing of it is erased. */
const withoutErased = (line: SegmentLine, erased: ErasedRuns): SegmentLine => {
  const before = erased.get(runIdOf(line))?.filter(({ sequence }) => line.sequence < sequence) ?? [];
  if (before.length === 0 || isTombstone(line)) return line;
  return before.some(({ what }) => what === 'run') ? tombstoneOf(line) : withoutOutputs(line);
};

const withoutOutputs = (line: SegmentLine): SegmentLine => {
  const parsed = parseRunEvent(messageOfLine(line)?.body);
  if (parsed.kind !== 'event' || !('outputs' in parsed.event.data)) return line;
  const { event } = parsed;
  const { outputs, outputs_blob } = parsed.event.data;
  if (!outputs?.length && outputs_blob === null) return line;
  return withoutContent(line, { ...event, data: { ...event.data, ...NO_OUTPUTS } });
};

/** Where segments and their records lie. */
export interface Store {
  readonly records: ArchiveRecords;
  readonly objects: ArchiveObjects;
  /** What was read of the archive before may be different now. */
  readonly onRewritten: (org_id: string) => void;
}

/**
 * Takes what is erased out of the segments of an organisation: a tombstone has the place of each message, so the Merkle root of a
 * segment stays as it was. May be repeated after any interruption. @throws {ArchiveUnavailable} @throws {LogUnavailable}
 */
const eraseFromSegments = async (options: Store, org_id: string, erased: ErasedRuns): Promise<void> => {
  if (erased.size === 0) return;
  for (const entry of await listSegments(options.records, org_id)) {
    if (entry.value.removed) continue;
    const filter = Buffer.from(entry.value.run_filter, 'base64');
    const runs = [...erased].filter(([run_id]) => mayHaveRun(filter, run_id));
    const left = erasuresFor(entry.value, new Map(runs));
    if (left.size > 0) await rewrite(options, entry, left);
    else await removeFormer(options, entry);
  }
};

/**
 * The record names the new object as one to remove before it is written, so a crash leaves nothing that nobody knows, and of two gateways one
 * goes on. It is read back before it takes the place of the former one, which is named until it is removed: so a reader always finds one of them.
 */
const rewrite = async (options: Store, entry: Entry<SegmentRecord>, erased: ErasedRuns): Promise<void> => {
  const { records, objects, onRewritten } = options;
  const { key, value: segment, revision } = entry;
  const lines = await readLines(objects, segment);
  const kept = lines.map((line) => withoutErased(line, erased));
  if (kept.every((line, at) => line === lines[at])) return removeFormer(options, entry);
  const packed = await packSegment(kept);
  const object = objectKey('rewritten', segment.object, revision);
  const claim = { ...segment, former: [...segment.former, object] };
  const claimed = await records.segments.update(key, claim, revision);
  // Another gateway rewrites it too: the next round looks again.
  if (claimed === false) return undefined;
  await objects.put(object, packed.bytes);
  await verifyObject(objects, object, packed);
  const count = kept.filter(({ leaf }) => leaf !== undefined).length;
  const former = [...segment.former, segment.object];
  const value = { ...segment, ...describedBy(packed), object, erased: count, former };
  const updated = await records.segments.update(key, value, claimed);
  if (updated === false) return objects.remove(object);
  onRewritten(segment.org_id);
  await removeFormer(options, { ...entry, value, revision: updated });
};

/** Objects whose content is erased. */
const removeFormer = async (
  { records, objects }: Store,
  { key, value, revision }: Entry<SegmentRecord>,
): Promise<void> => {
  if (value.former.length === 0) return;
  for (const object of value.former) await objects.remove(object);
  await records.segments.update(key, { ...value, former: [] }, revision);
};

/** All lines of a segment, after every check. @throws {ArchiveUnavailable} */
const readLines = async (
  objects: ArchiveObjects,
  segment: SegmentRecord,
): Promise<Awaited<ReturnType<typeof readWholeSegment>>> => {
  const read = await objects.find(segment.object);
  if (!read) throw new ArchiveUnavailable(`The object ${segment.object} of a segment is missing.`);
  try {
    return await readWholeSegment(segment, read);
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    throw new ArchiveUnavailable(`The segment ${segment.object} is damaged: ${error.message}`, {
      cause: error,
    });
  }
};

/** Removes segments altogether: their objects, and then their records. @throws {ArchiveUnavailable} @throws {LogUnavailable} */
export const removeSegment = async (
  { records, objects, onRewritten }: Store,
  { key, value, revision }: Entry<SegmentRecord>,
): Promise<void> => {
  const removed = await records.segments.update(key, { ...value, removed: true }, revision);
  if (removed === false) return;
  onRewritten(value.org_id);
  for (const object of [...value.former, value.object]) await objects.remove(object);
  await records.segments.eraseAt(key, removed);
};
