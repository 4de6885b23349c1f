import { randomBytes } from 'node:crypto';
import { Sha256 } from '@runledger/contracts/blobs';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { everyEntry, type Entry } from '@runledger/event-log/streams/bucket';
import { openTables, type Tables } from '@runledger/event-log/table/table';
import { Type, type Static } from 'typebox';
import { notFound, Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import { withinQuota } from '../records/quotas/quotas.ts';
import type { QuotaBound } from '../records/quotas/quota-bound.ts';
import type { Files } from './files.ts';
import { readParts, type StoredFile } from './file-records.ts';
import { DAY_MS, OutputStoreFull, type OutputStore, type StoredOutput } from './output-store.ts';
import { untilUnchanged } from './uploads.ts';

/** A file with weights, by its hash. Files that clients upload expire, and a version is kept: so it has a copy of its own. */
const StoredModel = Type.Object({
  org_id: Type.String(),
  sha256: Sha256,
  bytes: Type.Integer({ minimum: 1 }),
  created_at: Type.String(),
  /** Of its object in the store of models; null until one is whole. */
  key: Type.Union([Type.String(), Type.Null()]),
  /** Of objects that are being stored, or were when their gateway was killed. A record names each before it exists. */
  coming: Type.Array(Type.String()),
});
type StoredModel = Static<typeof StoredModel>;

/** What is held in memory of a model. */
export interface RetainedModel extends Pick<StoredModel, 'org_id' | 'sha256' | 'bytes' | 'created_at'> {
  readonly isWhole: boolean;
}

export type ModelRecords = Tables<StoredModel, RetainedModel>;

const MODELS = 'models';
const keyOf = (org_id: string, sha256: string): string => `${MODELS}.${org_id}.${sha256}`;
export const modelSortKey = ({ created_at, sha256 }: RetainedModel): string => `${created_at}.${sha256}`;

/** By organisation and hash, beside the records of files. */
export const modelRecords = (log: EventLog): ModelRecords =>
  openTables(log, {
    bucket: 'FILES',
    prefix: MODELS,
    schema: StoredModel,
    keep: ({ org_id, sha256, bytes, created_at, key }) => ({
      org_id,
      sha256,
      bytes,
      created_at,
      isWhole: key !== null,
    }),
    sortKey: modelSortKey,
  });

/** Of whole ones, and of those that are being kept. @throws {LogUnavailable} */
export const sumModels = async (records: ModelRecords, org_id: OrgId): Promise<number> =>
  [...(await records.of(org_id).now()).all()].reduce((sum, { value }) => sum + value.bytes, 0);

/** The models of organisations, each seen by its own only. Every method may throw LogUnavailable and OutputStoreUnavailable. */
export interface Models {
  readonly records: ModelRecords;
  readonly store: OutputStore;
  /** One that is whole, with its object. */
  find(org_id: OrgId, sha256: string): Promise<FoundModel | undefined>;
  /** As `find`. It is not removed within a day from now, so that a version can name it. */
  use(org_id: OrgId, sha256: string): Promise<FoundModel | undefined>;
  /** Copies a file, unless the organisation has its bytes already. It may be repeated, also at once and after a kill. @throws {Refused} */
  keep(file: StoredFile): Promise<FoundModel>;
}

interface FoundModel {
  readonly model: StoredModel;
  readonly object: StoredOutput;
}

export interface ModelParts {
  readonly records: ModelRecords;
  readonly store: OutputStore;
  /** Where files of clients are. */
  readonly outputs: OutputStore;
  readonly files: Pick<Files, 'remove'>;
  readonly quota: Pick<QuotaBound, 'limit' | 'within'>;
  /** The broker's time. */
  readonly brokerTime: () => Promise<Date>;
}

/** A use is written down when the last one is older than this part of the time for which an unused model is kept. */
const USE_WRITTEN_PART = 1 / 24;

export const openModels = (
  { now, logger, metrics }: Pick<Kit, 'now' | 'logger' | 'metrics'>,
  { records, store, outputs, files, quota, brokerTime }: ModelParts,
): Models => {
  const wholeOf = async (entry: Entry<StoredModel> | undefined): Promise<FoundModel | undefined> => {
    const model = entry?.value;
    if (!model || model.key === null) return undefined;
    const object = await store.find(model.key);
    return object?.bytes === model.bytes ? { model, object } : undefined;
  };
  const find: Models['find'] = async (org_id, sha256) => wholeOf(await records.get(keyOf(org_id, sha256)));
  const use: Models['use'] = (org_id, sha256) =>
    untilUnchanged(sha256, async () => {
      const entry = await records.get(keyOf(org_id, sha256));
      const found = await wholeOf(entry);
      if (!entry || !found) return undefined;
      const age = (await brokerTime()).getTime() - entry.changedAt.getTime();
      if (age < DAY_MS * USE_WRITTEN_PART) return found;
      return (await records.update(entry.key, entry.value, entry.revision)) === false ? 'changed' : found;
    });
  const removeQuietly = async (key: string): Promise<void> => {
    await store.remove(key).catch((err: unknown) => logger.warn({ err }, 'a model could not be removed'));
  };
  /** From now on the record names the object, and its bytes count to the quota. */
  const begin = async ({ org_id, sha256, bytes }: StoredFile, key: string): Promise<void> => {
    const at = keyOf(org_id, sha256);
    await untilUnchanged(sha256, async () => {
      const entry = await records.get(at);
      if (entry) {
        const changed = { ...entry.value, coming: [...entry.value.coming, key] };
        return (await records.update(entry.key, changed, entry.revision)) === false ? 'changed' : undefined;
      }
      const model = { org_id, sha256, bytes, created_at: now().toISOString(), key: null, coming: [key] };
      const create = () => records.create(at, model);
      const why = `With this model the models of the organisation would have more than its limit of ${quota.limit} bytes (RUNLEDGER_QUOTA_MODEL_BYTES). Delete versions that name others, and those go within a day`;
      const created = await withinQuota(quota, orgId(org_id), bytes, create, why);
      return created === false ? 'changed' : undefined;
    });
  };
  /** `key`: of the object that is whole now; null when there is none. Resolves with the object that the model has then. */
  const end = ({ org_id, sha256 }: StoredFile, coming: string, key: string | null) =>
    untilUnchanged(sha256, async () => {
      const entry = await records.get(keyOf(org_id, sha256));
      if (!entry) return undefined;
      const before = await wholeOf(entry);
      const left = entry.value.coming.filter((each) => each !== coming);
      const model = { ...entry.value, key: before || key === null ? entry.value.key : key, coming: left };
      if (model.key === null && left.length === 0)
        return (await records.eraseAt(entry.key, entry.revision)) ? undefined : 'changed';
      if ((await records.update(entry.key, model, entry.revision)) === false) return 'changed';
      // It was lost, or another request was faster.
      const replaced = model.key === entry.value.key ? null : entry.value.key;
      if (replaced !== null) await removeQuietly(replaced);
      return model;
    });
  const copy = async (file: StoredFile): Promise<void> => {
    const { sha256, parts } = file;
    const key = randomBytes(32).toString('base64url');
    await begin(file, key);
    let stored: StoredOutput | undefined;
    try {
      const described = { key, filename: sha256, content_type: 'application/octet-stream' };
      stored = await store.put(described, readParts(outputs, parts));
    } catch (error) {
      throw error instanceof OutputStoreFull
        ? new Refused({ code: 'output_store_full', why: error.message })
        : error;
    } finally {
      const isRight = stored?.sha256 === sha256;
      const model = await end(file, key, isRight ? key : null).catch((error: unknown) => {
        if (isRight) throw error;
      });
      if (model?.key !== key) await removeQuietly(key);
    }
    if (stored.sha256 !== sha256)
      throw new Refused({
        code: 'file_not_found',
        why: `The file ${file.id} is damaged in the store: delete it, and upload it again`,
      });
    metrics.uploaded(stored.bytes);
  };
  /** Of this gateway. A client that is less patient than a copy takes asks again. */
  const copying = new Map<string, Promise<void>>();
  const copyOnce = (file: StoredFile): Promise<void> => {
    const key = keyOf(file.org_id, file.sha256);
    const begun = copying.get(key) ?? copy(file).finally(() => copying.delete(key));
    copying.set(key, begun);
    return begun;
  };
  return {
    records,
    store,
    find,
    use,
    keep: async (file) => {
      const org_id = orgId(file.org_id);
      const before = await use(org_id, file.sha256);
      if (!before) await copyOnce(file);
      const found = before ?? (await find(org_id, file.sha256));
      if (!found) throw notFound('Model');
      await files.remove(org_id, file.id, 'of_one_run');
      return found;
    },
  };
};

/** What the sweep of models looks at. */
export interface SweptModels extends Pick<Models, 'records' | 'store'> {
  /** How many versions of an organisation name each model, with every acknowledged version. */
  readonly usesOf: (org_id: string) => Promise<ReadonlyMap<string, number>>;
  /** When the bucket of the catalogue was created. What is older belongs to a catalogue that was lost. */
  readonly catalogueCreated: () => Promise<string>;
  readonly brokerTime: () => Promise<Date>;
}

/**
 * Removes models that no version names, a day after they were kept or used, and what killed gateways were storing. A record goes before its
 * object only where nobody has changed it since: a version that is being made has used its models.
 */
export const sweepModels = async (
  { logger }: Pick<Kit, 'logger'>,
  { records, store, usesOf, catalogueCreated, brokerTime }: SweptModels,
  stop: AbortSignal,
): Promise<void> => {
  const old = (await brokerTime()).getTime() - DAY_MS;
  const known = Date.parse(await catalogueCreated());
  const uses = new Map<string, ReadonlyMap<string, number>>();
  for await (const entry of everyEntry((behind) => records.next(MODELS, behind))) {
    // In the order of their last changes.
    if (stop.aborted || entry.changedAt.getTime() > old) return;
    const { org_id, sha256, bytes, key, coming } = entry.value;
    const named = uses.get(org_id) ?? (await usesOf(org_id));
    uses.set(org_id, named);
    if (named.has(sha256) || entry.changedAt.getTime() < known) {
      if (coming.length === 0) continue;
      const without = { ...entry.value, coming: [] };
      if ((await records.update(entry.key, without, entry.revision)) === false) continue;
      await removeAll(store, coming);
      continue;
    }
    if (!(await records.eraseAt(entry.key, entry.revision))) continue;
    await removeAll(store, key === null ? coming : [key, ...coming]);
    logger.info({ org_id, sha256, bytes }, 'a model that no version names was erased');
  }
};

const removeAll = async (store: OutputStore, keys: readonly string[]): Promise<void> => {
  for (const key of keys) await store.remove(key);
};

/** Of an organisation. The record goes last: it names what is left. Resolves with how many there were. @throws {LogUnavailable} @throws {OutputStoreUnavailable} */
export const eraseModelsOf = async (
  { records, store }: Pick<Models, 'records' | 'store'>,
  org_id: OrgId,
): Promise<number> => {
  let erased = 0;
  for await (const { value, key, revision } of everyEntry((behind) =>
    records.next(`${MODELS}.${org_id}`, behind),
  )) {
    await removeAll(store, [...(value.key === null ? [] : [value.key]), ...value.coming]);
    await records.eraseAt(key, revision);
    erased += 1;
  }
  return erased;
};
