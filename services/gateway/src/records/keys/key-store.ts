import { Sha256 } from '@runledger/contracts/blobs';
import { ApiKey } from '@runledger/contracts/catalogue/records';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Type, type Static } from 'typebox';

/**
 * Under `by_org.<org_id>.<key id>`: the record again and its hash, so that keys are listed and revoked by their id. It never
 * changes.
 */
const IndexedKey = Type.Object({
  sha256: Sha256,
  record: ApiKey,
  /** The keys above it that were there when it was made, by their ids: revoking one of them revokes it. */
  ancestors: Type.Optional(Type.Array(Type.String({ format: 'uuid' }))),
});
export type IndexedKey = Static<typeof IndexedKey>;

const LastUse = Type.Object({
  at: Type.String({ format: 'date-time' }),
  /** Null when the connection was closed already. */
  address: Type.Optional(Type.Union([Type.String({ maxLength: 64 }), Type.Null()])),
});
type LastUse = Static<typeof LastUse>;

type OwnedKey = Pick<ApiKey, 'org_id' | 'id'>;

interface KeyUse {
  readonly at: Date;
  /** Of the client; undefined when the connection was closed already. */
  readonly address: string | undefined;
}

/**
 * The bucket KEYS: a key's record under its hash, an index entry, and its last use. A key is valid while its record
 * exists. The index entry is written before the record and erased after it, so the list has every valid key, wherever a
 * crash interrupts; it may leave a listed key that is no longer valid, and can be revoked again.
 * A key that is created and revoked at the same time leaves nothing: creating reads the index afterwards, and revoking
 * erases the record once more after the index entry. A key that another one makes is stored only while that one is valid, which
 * the broker decides.
 * Every method may throw LogUnavailable and may be called again then.
 */
export interface KeyStore {
  find(sha256: string): Promise<ApiKey | undefined>;
  findIndexed(key: OwnedKey): Promise<IndexedKey | undefined>;
  /** All keys of an organisation, with their revisions, which are in the order of indexing. */
  listIndexed(org_id: string): Promise<Entry<IndexedKey>[]>;
  /** Its revision; false when the key is indexed already. */
  index(key: IndexedKey): Promise<number | false>;
  /** False when the hash has a record already. The key must be indexed. A key that was revoked since stays invalid. */
  create(key: IndexedKey): Promise<boolean>;
  /** As `create`, for a key of random text: false when its parent is not valid any more. */
  createWhileValid(key: IndexedKey, parent: ApiKey): Promise<boolean>;
  /** Erases the record. The key can neither be used nor make another one any more. */
  invalidate(sha256: string): Promise<void>;
  /** Erases all of a key. */
  revoke(key: IndexedKey): Promise<void>;
  /** Also the last use. The record must be erased before. */
  eraseIndexed(key: OwnedKey): Promise<void>;
  /** When the stored use is. It stays when it is within `everyMs` of the given one, whichever gateway wrote it. */
  recordUse(key: OwnedKey, use: KeyUse, everyMs: number): Promise<Date>;
  /** By the id of the key. */
  lastUses(org_id: string): Promise<ReadonlyMap<string, LastUse>>;
}

const stores = new WeakMap<EventLog, KeyStore>();

export const keyStore = (log: EventLog): KeyStore => {
  const store = stores.get(log) ?? openKeyStore(log);
  stores.set(log, store);
  return store;
};

const openKeyStore = (log: EventLog): KeyStore => {
  const records = openBucket(log, 'KEYS', ApiKey);
  const indexed = openBucket(log, 'KEYS', IndexedKey);
  const uses = openBucket(log, 'KEYS', LastUse);
  const findIndexed = async (key: OwnedKey): Promise<IndexedKey | undefined> =>
    (await indexed.get(indexName(key)))?.value;
  const eraseIndexed = async (key: OwnedKey): Promise<void> => {
    await indexed.erase(indexName(key));
    await uses.erase(useName(key));
  };
  const eraseUnlessIndexed = async ({ sha256, record }: IndexedKey): Promise<void> => {
    if ((await findIndexed(record)) === undefined) await records.erase(sha256);
  };
  const invalidate = (sha256: string): Promise<void> => records.erase(sha256);
  return {
    find: async (sha256) => (await records.get(sha256))?.value,
    findIndexed,
    listIndexed: (org_id) => indexed.list(`by_org.${org_id}`),
    index: (key) => indexed.create(indexName(key.record), key),
    create: async (key) => {
      if ((await records.create(key.sha256, key.record)) === false) return false;
      await eraseUnlessIndexed(key);
      return true;
    },
    createWhileValid: async (key, parent) => {
      const present = await records.get(parent.sha256);
      if (present === undefined) return false;
      if ((await records.putWhile(key.sha256, key.record, present)) === false) return false;
      await eraseUnlessIndexed(key);
      return true;
    },
    invalidate,
    revoke: async ({ sha256, record }) => {
      await invalidate(sha256);
      await eraseIndexed(record);
      await invalidate(sha256);
    },
    eraseIndexed,
    recordUse: async (key, { at, address = null }, everyMs) => {
      const name = useName(key);
      const present = await uses.get(name);
      const stored = present && new Date(present.value.at);
      if (stored && Math.abs(stored.getTime() - at.getTime()) < everyMs) return stored;
      const use = { at: at.toISOString(), address };
      // It is not written when another gateway was faster, which has seen a use as well.
      await (present ? uses.update(name, use, present.revision) : uses.create(name, use));
      // Revoking erases the index entry before the last use: either it erases what was just written, or this does.
      if ((await findIndexed(key)) === undefined) await uses.erase(name);
      return at;
    },
    lastUses: async (org_id) => {
      const entries = await uses.list(`used.${org_id}`);
      return new Map(entries.map(({ key, value }) => [key.slice(key.lastIndexOf('.') + 1), value]));
    },
  };
};

const indexName = ({ org_id, id }: OwnedKey): string => `by_org.${org_id}.${id}`;
const useName = ({ org_id, id }: OwnedKey): string => `used.${org_id}.${id}`;
