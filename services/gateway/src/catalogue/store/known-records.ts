import type { Bucket } from '@runledger/event-log/streams/bucket';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import type { Listed } from './core/record-page.ts';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { recordIndex, type RecordIndex } from './record-index.ts';

/**
 * The records of one kind of an organisation, with every write that was acknowledged before the call. All records are read
 * once; from then on each call reads what was written since, which is usually nothing. A record that another gateway erased
 * is listed for up to ten minutes, which does no harm because callers read the record itself.
 */
export interface KnownRecords<Entry> {
  /** Concurrent calls share one read. @throws {LogUnavailable} */
  now(): Promise<RecordIndex<Entry>>;
  /** How many records are in memory. */
  size(): number;
}

/** With more changes, reading all records again costs less. */
const MAX_CHANGES = 200;
/** An erased record leaves no write. */
const KNOWN_FOR_MS = 600_000;

export const knownRecords = <Stored, Entry extends Listed>(
  bucket: Bucket<Stored>,
  prefix: string,
  entryOf: (record: Stored) => Entry,
): KnownRecords<Entry> => {
  let known: Known<Entry> | undefined;

  const read = async (): Promise<Known<Entry>> => {
    const records = await bucket.list(prefix);
    return {
      readAt: performance.now(),
      index: recordIndex(records.map(({ value }) => entryOf(value))),
      upTo: records.reduce((last, { revision }) => Math.max(last, revision), 0),
    };
  };
  /** Whether the index now has every write that the bucket's leader has acknowledged. */
  const catchUp = async (behind: Known<Entry>): Promise<boolean> => {
    for (let changes = 0; changes < MAX_CHANGES; changes += 1) {
      const write = await bucket.nextWrite(prefix, behind.upTo);
      if (!write) return true;
      const entry = await bucket.get(write.key);
      if (entry) behind.index.set(entryOf(entry.value));
      else behind.index.delete(write.key.slice(prefix.length + 1));
      behind.upTo = write.revision;
    }
    return false;
  };

  const now = oneAtATime(async () => {
    if (known && performance.now() - known.readAt > KNOWN_FOR_MS) known = undefined;
    known ??= await read();
    if (await catchUp(known)) return known.index;
    known = await read();
    if (await catchUp(known)) return known.index;
    throw new LogUnavailable(
      `The records under ${prefix} changed faster than they could be read. Try again.`,
    );
  });
  return { now, size: () => known?.index.newestFirst.length ?? 0 };
};

interface Known<Entry> {
  readonly readAt: number;
  readonly index: RecordIndex<Entry>;
  /** The revision up to which every write is in the index. */
  upTo: number;
}
