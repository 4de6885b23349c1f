import type { Static, TSchema } from 'typebox';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { messageOf } from '@runledger/resilience/errors';
import type { EventLog } from '../connect/event-log.ts';
import type { Readiness } from '../connect/observability.ts';
import { perLog } from '../connect/per-log.ts';
import { LogFull } from '../append/publish.ts';
import { readToEnd } from '../follow/read-to-end.ts';
import { nextMessage } from '../read/leader-read.ts';
import {
  filterOf,
  isDeletion,
  keyIn,
  recordMessage,
  recordsIn,
  type Bucket,
  type Entry,
  type RecordMessage,
  type RecordsIn,
} from '../streams/bucket.ts';
import type { BucketName } from '../streams/bucket-writes.ts';
import { tableIndex, type Indexes, type MutableTableIndex, type TableIndex } from './table-index.decide.ts';

export type { TableIndex } from './table-index.decide.ts';

/**
 * The records under a prefix of a bucket, followed into memory and found by declared indexes (ADR 154).
 *
 *     const keys = openTable(log, {
 *       bucket: 'KEYS',
 *       prefix: 'keys', // all its keys are `keys.<…>`
 *       schema: StoredKey,
 *       keep: (key) => key, // what is held in memory of a record
 *       indexes: { id: ({ org_id, id }) => `${org_id}.${id}`, org: ({ org_id }) => org_id },
 *       sortKey: ({ created_at, id }) => `${created_at}.${id}`,
 *     });
 *     await keys.create(`keys.${sha256}`, key);   // false when another gateway was first
 *     const now = await keys.now();               // has every write that any gateway has acknowledged before this call
 *     now.get(`keys.${sha256}`);                  // the entry: key, value, revision, changedAt
 *     now.by('id', `${org_id}.${id}`);
 *     now.of('org', org_id).length;
 *     await keys.update(key, value, revision);    // compare-and-set, as of every bucket
 *     await keys.erase(key);                      // seen by the next `now` of every gateway
 *
 * - Unique is the key, which the broker decides: a record whose e-mail is unique has the hash of the e-mail in its key, and is created by
 *   `create`. Indexes find; they refuse nothing.
 * - `now()` asks the leader of the bucket for what was written since the last time, which is the proof that there is nothing more. Calls
 *   during a question share the next one. `now(500)` is content with a proof that began within the last 500 ms.
 * - So nothing runs in the background, and there is nothing to stop: a table that nobody asks costs nothing but its memory. Without the
 *   broker, `now` throws LogUnavailable: there is no answer from memory that is older than what was asked for.
 * - A record that this release cannot read, of a later one or damaged, is left out. The log names it, and so does `leftOutState`.
 * - What is not in `keep` is read by `get`, from the leader, as of every bucket.
 * - `openTables` has one such table for each organisation, read at its first use. Take it where all records together are too many.
 */
export interface Table<Value, Kept = Value, Name extends string = never>
  extends Bucket<Value>, Followed<Kept, Name> {}

/** What a table has in memory. */
export interface Followed<Kept, Name extends string = never> {
  /** With every write that was acknowledged before the call, or before that many milliseconds. @throws {LogUnavailable} */
  readonly now: (withinMs?: number) => Promise<TableIndex<Kept, Name>>;
  /** The same without a question: undefined when no proof began within so many milliseconds. */
  readonly recent: (withinMs: number) => TableIndex<Kept, Name> | undefined;
}

export interface TableOptions<Schema extends TSchema, Kept, Name extends string> {
  readonly bucket: BucketName;
  readonly prefix: string;
  readonly schema: Schema;
  /** What is held in memory of a record. */
  readonly keep: (value: Static<Schema>) => Kept;
  readonly indexes?: Indexes<Kept, Name>;
  /** The order of `newestFirst`; that of the last changes when left out. */
  readonly sortKey?: (value: Kept) => string;
}

export const openTable = <Schema extends TSchema, Kept, Name extends string>(
  log: EventLog,
  options: TableOptions<Schema, Kept, Name>,
): Table<Static<Schema>, Kept, Name> => {
  const stored = recordsIn(log, options.bucket, options.schema);
  const { now, recent, forget } = follower(log, stored, options, options.prefix);
  // A broker that was unavailable may have been restored from an older copy of its log.
  log.onReconnect(forget);
  return { ...withSeenErasures(log, options.bucket, stored), now, recent };
};

/** Tables of one kind, one for each owner, which is the part of the keys behind the prefix. */
export interface Tables<Value, Kept = Value, Name extends string = never> extends Bucket<Value> {
  /** The table of an owner, with the records of this owner only. */
  readonly of: (owner: string) => Followed<Kept, Name>;
}

/** Of all tables of one kind together, as JSON. */
const MOST_BYTES = 16 * 1024 ** 2;
/** One that is empty counts as much. */
const LEAST_BYTES = 16 * 1024;

/**
 * One table for each owner, read at its first use. While all together have more than `mostBytes`, the least recently used one is
 * forgotten; a single one may have more.
 */
export const openTables = <Schema extends TSchema, Kept, Name extends string>(
  log: EventLog,
  options: TableOptions<Schema, Kept, Name>,
  mostBytes = MOST_BYTES,
): Tables<Static<Schema>, Kept, Name> => {
  const stored = recordsIn(log, options.bucket, options.schema);
  /** In the order of their last use. */
  const kept = new Map<string, Follower<Kept, Name>>();
  const sizeOf = (one: Follower<Kept, Name>): number => Math.max(LEAST_BYTES, one.bytes());
  log.onReconnect(() => {
    for (const one of kept.values()) one.forget();
    kept.clear();
  });
  return {
    ...withSeenErasures(log, options.bucket, stored),
    of: (owner) => {
      const one = kept.get(owner) ?? follower(log, stored, options, `${options.prefix}.${owner}`);
      kept.delete(owner);
      let size = sizeOf(one);
      for (const other of kept.values()) size += sizeOf(other);
      for (const [oldest, other] of kept) {
        if (size <= mostBytes) break;
        kept.delete(oldest);
        size -= sizeOf(other);
      }
      kept.set(owner, one);
      return one;
    },
  };
};

interface Follower<Kept, Name extends string> extends Followed<Kept, Name> {
  /** Everything is read again when it is needed. */
  readonly forget: () => void;
  readonly bytes: () => number;
}

/**
 * A purge leaves no trace that others could read, so a record is first replaced by a marker. Whoever has seen a marker for an hour purges
 * it, and whoever has not proved for half an hour that nothing is missing reads everything again: nobody misses one.
 */
const MARKER_KEPT_MS = 3_600_000;
const READ_AGAIN_MS = MARKER_KEPT_MS / 2;
/** Of purges after one proof. */
const MOST_PURGED = 32;
/** More changes than that are read with a consumer, which costs some five requests. */
const ASKED_ONE_BY_ONE = 8;
const SILENT_MS = 15_000;

interface Known<Kept, Name extends string> {
  readonly index: MutableTableIndex<Kept, Name>;
  /** Every write up to this revision is in the index. */
  upTo: number;
  /** When the last proof began that this is everything. */
  provenAt: number;
}

/** A removed record, whose marker is purged later. */
interface Marker {
  readonly revision: number;
  readonly seenAt: number;
}

const follower = <Schema extends TSchema, Kept, Name extends string>(
  log: EventLog,
  { entryOf, eraseUpTo }: RecordsIn<Static<Schema>>,
  { bucket, keep, indexes, sortKey }: TableOptions<Schema, Kept, Name>,
  prefix: string,
): Follower<Kept, Name> => {
  const stream = `KV_${bucket}`;
  const filter = filterOf(bucket, prefix);
  const leftOut = leftOutOf(log);
  let known: Known<Kept, Name> | undefined;
  let forgotten = 0;
  const markers = new Map<string, Marker>();

  const take = (into: Known<Kept, Name>, message: RecordMessage): void => {
    into.upTo = message.sequence;
    const key = keyIn(bucket, message.subject);
    const entry = readable(key, message);
    if (entry) {
      const value = keep(entry.value);
      const isWhole = Object.is(value, entry.value);
      const bytes = isWhole ? message.data.byteLength : JSON.stringify(value).length;
      into.index.set({ ...entry, value, bytes });
    } else into.index.delete(key);
  };
  /** Undefined for a marker, and for a record that this release cannot read. */
  const readable = (key: string, message: RecordMessage): Entry<Static<Schema>> | undefined => {
    leftOut.delete(`${bucket} ${key}`);
    if (isDeletion(message.headers)) {
      const { sequence: revision } = message;
      if (markers.get(key)?.revision !== revision) markers.set(key, { revision, seenAt: performance.now() });
      return undefined;
    }
    try {
      return entryOf(message);
    } catch (err) {
      leftOut.set(`${bucket} ${key}`, messageOf(err));
      log.logger.error(
        { err, stream, key, sequence: message.sequence },
        'a record cannot be read; it is left out',
      );
      return undefined;
    }
  };
  const readAll = async (into: Known<Kept, Name>, lastPerSubject: boolean): Promise<void> => {
    const options = { stream, subjects: [filter], behind: into.upTo, lastPerSubject, withinMs: SILENT_MS };
    for await (const message of readToEnd(log, options)) take(into, message);
  };
  const catchUp = async (behind: Known<Kept, Name>): Promise<void> => {
    for (let asked = 0; asked < ASKED_ONE_BY_ONE; asked += 1) {
      const message = await nextMessage(log, stream, behind.upTo + 1, filter);
      if (message === null) return;
      take(behind, recordMessage(message));
    }
    await readAll(behind, false);
  };
  const purgeMarkers = async (): Promise<void> => {
    const old = [...markers].filter(([, { seenAt }]) => performance.now() - seenAt > MARKER_KEPT_MS);
    for (const [key, { revision }] of old.slice(0, MOST_PURGED)) {
      markers.delete(key);
      // What stays is seen, and purged, after the next start.
      await eraseUpTo(key, revision).catch((err: unknown) => {
        log.logger.debug({ err, key }, 'the marker of an erased record could not be removed');
      });
    }
  };

  const prove = oneAtATime(async () => {
    for (;;) {
      const began = performance.now();
      const before = forgotten;
      const present = known && began - known.provenAt < READ_AGAIN_MS ? known : undefined;
      const next = present ?? { index: tableIndex(sortKey, indexes), upTo: 0, provenAt: began };
      if (!present) {
        for (const name of leftOut.keys()) if (name.startsWith(`${bucket} ${prefix}.`)) leftOut.delete(name);
        await readAll(next, true);
      }
      await catchUp(next);
      // What a broker said that is another one by now proves nothing.
      if (before !== forgotten) continue;
      next.provenAt = began;
      known = next;
      if (markers.size > 0) void purgeMarkers();
      return next.index;
    }
  });
  const recent = (withinMs: number): TableIndex<Kept, Name> | undefined =>
    known && performance.now() - known.provenAt <= withinMs ? known.index : undefined;
  return {
    recent,
    now: async (withinMs = 0) => (withinMs > 0 ? recent(withinMs) : undefined) ?? prove(),
    bytes: () => known?.index.bytes ?? 0,
    forget: () => {
      forgotten += 1;
      known = undefined;
    },
  };
};

/** What the tables of a log have left out: why, by the bucket and the key. */
const leftOutOf = perLog((): Map<string, string> => new Map());
const MOST_NAMED = 10;

/** For `/readyz`: the records that were read and left out. None of them keeps a service from its work. */
export const leftOutState = (log: EventLog) => (): Readiness => {
  const leftOut = [...leftOutOf(log)];
  if (leftOut.length === 0) return { ok: true };
  const named = leftOut.slice(0, MOST_NAMED).map(([name, why]) => `${name}: ${why}`);
  return {
    ok: true,
    note: `Records that cannot be read, and are left out: ${leftOut.length}. ${named.join(' ')}`,
  };
};

/** A bucket whose erasures every follower sees. */
const withSeenErasures = <Value>(
  log: EventLog,
  bucket: BucketName,
  { records, mark, entryOf, eraseUpTo }: RecordsIn<Value>,
): Bucket<Value> => ({
  ...records,
  // Whoever walks through the records removes the markers that everybody has seen: of an owner for whom nobody asks, nobody else does. It goes by
  // the broker's times alone, so the last ones stay until something is written behind them.
  next: async (prefix, behind) => {
    const passed: RecordMessage[] = [];
    for (let from = behind; ;) {
      const found = await nextMessage(log, `KV_${bucket}`, from + 1, filterOf(bucket, prefix));
      if (found === null) return undefined;
      const message = recordMessage(found);
      const isSeen = ({ storedAt }: RecordMessage): boolean =>
        message.storedAt.getTime() - storedAt.getTime() > MARKER_KEPT_MS;
      for (const { subject, sequence } of passed.filter(isSeen))
        await eraseUpTo(keyIn(bucket, subject), sequence);
      if (!isDeletion(message.headers)) return entryOf(message);
      passed.splice(0, passed.length, ...passed.filter((marker) => !isSeen(marker)), message);
      from = message.sequence;
    }
  },
  erase: (key) =>
    unlessFull(
      () => mark(key),
      async () => {
        await records.erase(key);
        return mark(key);
      },
    ).then(() => undefined),
  eraseAt: (key, revision) =>
    unlessFull(
      async () => (await mark(key, revision)) || (await records.get(key)) === undefined,
      async () => {
        if (!(await records.eraseAt(key, revision))) return false;
        await mark(key, 0);
        return true;
      },
    ),
});

/** A full bucket takes no marker either, until the record has made room for it. */
const unlessFull = async (
  erase: () => Promise<boolean>,
  whenFull: () => Promise<boolean>,
): Promise<boolean> => {
  try {
    return await erase();
  } catch (error) {
    if (error instanceof LogFull) return whenFull();
    throw error;
  }
};
