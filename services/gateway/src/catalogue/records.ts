import type { Bucket } from '@runledger/event-log/bucket';
import { changeRecord, type ChangedRecord, type Decide } from './change-record.ts';

interface Owned {
  readonly id: string;
  readonly org_id: string;
}

export type CreatedRecord<Stored, No> =
  | { readonly kind: 'created'; readonly record: Stored }
  | { readonly kind: 'refused'; readonly why: No }
  /** The organisation has as many as a list can show. */
  | { readonly kind: 'too_many'; readonly most: number };

/** The records of one kind. Each belongs to an organisation, which is part of its key. All of it may throw LogUnavailable. */
export interface Records<Stored> {
  get(org: string, id: string): Promise<Stored | undefined>;
  /** All of them, archived ones too, in no order. */
  list(org: string): Promise<Stored[]>;
  /** Makes a new one, unless `refuse` says why not; it is asked again after the write, as `changeRecord` tells. */
  create<No = never>(
    record: Stored,
    refuse?: () => Promise<No | undefined>,
  ): Promise<CreatedRecord<Stored, No>>;
  change<No>(org: string, id: string, decide: Decide<Stored, No>): Promise<ChangedRecord<Stored, No>>;
  /** Whatever was there. */
  put(record: Stored): Promise<void>;
}

/** Less than the 10,000 that a bucket lists, since several may be made at the same moment. */
const MOST = 9_000;

export const openRecords = <Stored extends Owned>(
  bucket: Bucket<Stored>,
  kind: 'machines' | 'workflows' | 'deployments',
): Records<Stored> => {
  const keyOf = (org: string, id: string): string => `${kind}.${org}.${id}`;
  const list = async (org: string): Promise<Stored[]> =>
    (await bucket.list(`${kind}.${org}`)).map(({ value }) => value);
  return {
    get: async (org, id) => (await bucket.get(keyOf(org, id)))?.value,
    list,
    create: async <No>(record: Stored, refuse?: () => Promise<No | undefined>) => {
      const { org_id, id } = record;
      if ((await list(org_id)).length >= MOST) return { kind: 'too_many', most: MOST };
      const why = await refuse?.();
      if (why !== undefined) return { kind: 'refused', why };
      const key = keyOf(org_id, id);
      if ((await bucket.create(key, record)) === false)
        throw new Error(`${key} is there: an id was given twice`);
      const changedMind = await refuse?.();
      if (changedMind === undefined) return { kind: 'created', record };
      await bucket.erase(key);
      return { kind: 'refused', why: changedMind };
    },
    change: (org, id, decide) => changeRecord(bucket, keyOf(org, id), decide),
    put: async (record) => {
      await bucket.put(keyOf(record.org_id, record.id), record);
    },
  };
};
