import { ApiKey } from '@runledger/contracts/catalogue/records';
import { LogFull } from '@runledger/event-log/append/publish';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { perLog } from '@runledger/event-log/connect/per-log';
import { openBucket, type Bucket, type Entry } from '@runledger/event-log/streams/bucket';
import { openTable, type Table, type TableIndex } from '@runledger/event-log/table/table';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { Type, type Static } from 'typebox';

const StoredKey = Type.Object({
  record: ApiKey,
  /** The keys above it that were there when it was made, by their ids: revoking one of them revokes it. */
  ancestors: Type.Optional(Type.Array(Type.String({ format: 'uuid' }))),
  /** It is not valid any more, and is removed when all keys below it are. */
  revoked: Type.Optional(Type.Literal(true)),
});
export type StoredKey = Static<typeof StoredKey>;

const LastUse = Type.Object({
  at: Type.String({ format: 'date-time' }),
  /** Null when the connection was closed already. */
  address: Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()])),
});
type LastUse = Static<typeof LastUse>;

type KeyIndex = TableIndex<StoredKey, 'id' | 'org'>;

/**
 * The keys of all organisations: a table of the bucket KEYS, each under the hash of its text. A key that another one makes is stored only
 * while that one is as it was read, which the broker decides. Every method may throw LogUnavailable and may be called again then.
 */
export interface KeyStore extends Table<StoredKey, StoredKey, 'id' | 'org'> {
  /**
   * As `now`, also when a broker answers that the others have replaced, which may hold keys that were revoked since: the table counts only
   * if a quorum of RUNS is in touch with its leader, since no other broker leads any stream then (ADR 3).
   */
  readonly proven: (withinMs?: number) => Promise<KeyIndex>;
  /** The same without a question: undefined when no such proof began within so many milliseconds. */
  readonly recentlyProven: (withinMs: number) => KeyIndex | undefined;
  /** By the organisation and the id of a key. */
  readonly uses: Bucket<LastUse>;
}

export const keyStore = perLog((log): KeyStore => {
  const keys = openTable(log, {
    bucket: 'KEYS',
    prefix: 'keys',
    schema: StoredKey,
    keep: (key: StoredKey) => key,
    indexes: { id: ({ record }) => record.id, org: ({ record }) => record.org_id },
  });
  let provenAt = Number.NEGATIVE_INFINITY;
  const prove = oneAtATime(async () => {
    const began = performance.now();
    const index = await keys.now();
    await log.freshSequence?.();
    provenAt = began;
    return index;
  });
  const recentlyProven = (withinMs: number): KeyIndex | undefined =>
    performance.now() - provenAt <= withinMs ? keys.recent(withinMs) : undefined;
  return {
    ...keys,
    recentlyProven,
    proven: async (withinMs = 0) => (withinMs > 0 ? recentlyProven(withinMs) : undefined) ?? prove(),
    uses: openBucket(log, 'KEYS', LastUse),
  };
});

export const keyName = ({ sha256 }: { readonly sha256: string }): string => `keys.${sha256}`;

/** All keys of an organisation, in the order in which they were made. */
export const keysOf = async (store: KeyStore, org_id: string): Promise<Entry<StoredKey>[]> =>
  (await store.now()).of('org', org_id).toSorted((one, other) => one.revision - other.revision);

/** The key of an organisation with this id. */
export const keyWithId = (index: KeyIndex, { org_id, id }: OwnedKey): Entry<StoredKey> | undefined => {
  const found = index.by('id', id);
  return found?.value.record.org_id === org_id ? found : undefined;
};

/** Makes a key invalid that stays in the list until those below it are gone. */
export const invalidate = async (store: KeyStore, key: ApiKey): Promise<void> => {
  for (;;) {
    const present = await store.get(keyName(key));
    if (present === undefined || present.value.revoked) return;
    try {
      const written = await store.update(present.key, { ...present.value, revoked: true }, present.revision);
      if (written !== false) return;
    } catch (error) {
      if (!(error instanceof LogFull)) throw error;
      // There is no room to say so.
      await store.erase(present.key);
    }
  }
};

/** Erases all of a key. */
export const revoke = async (store: KeyStore, { record }: StoredKey): Promise<void> => {
  await store.erase(keyName(record));
  await store.uses.erase(useName(record));
};

interface OwnedKey {
  readonly org_id: string;
  readonly id: string;
}

const useName = ({ org_id, id }: OwnedKey): string => `used.${org_id}.${id}`;

/**
 * When the stored use is. It stays when it is within `everyMs` of the given one, whichever gateway wrote it. `address`: of the client; undefined
 * when the connection was closed already.
 */
export const recordUse = async (
  log: EventLog,
  key: ApiKey,
  { at, address }: { readonly at: Date; readonly address: string | undefined },
  everyMs: number,
): Promise<Date> => {
  const store = keyStore(log);
  const { uses } = store;
  const name = useName(key);
  const present = await uses.get(name);
  const stored = present && new Date(present.value.at);
  if (stored && Math.abs(stored.getTime() - at.getTime()) < everyMs) return stored;
  const use = { at: at.toISOString(), address: address ?? null };
  // It is not written when another gateway was faster, which has seen a use as well.
  await (present ? uses.update(name, use, present.revision) : uses.create(name, use));
  // Revoking erases the key before the last use: either it erases what was just written, or this does.
  if ((await store.get(keyName(key))) === undefined) await uses.erase(name);
  return at;
};

/** By the id of the key. */
export const lastUsesOf = async (log: EventLog, org_id: string): Promise<ReadonlyMap<string, LastUse>> => {
  const entries = await keyStore(log).uses.list(`used.${org_id}`);
  return new Map(entries.map(({ key, value }) => [key.slice(key.lastIndexOf('.') + 1), value]));
};
