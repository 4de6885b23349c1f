import { isDeepStrictEqual } from 'node:util';
import {
  isDeleted,
  isEnded,
  NO_OUTPUTS,
  type OutputListing,
  type LeftToErase,
} from '@runledger/contracts/fold/run';
import { eraseLogs } from '@runledger/event-log/streams/logs';
import type { OutputLists } from '@runledger/blob-store/output-lists';
import { storedFiles } from '@runledger/contracts/events/run-event-data';
import type { OrgId } from '@runledger/contracts/ids';
import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import { namedFiles, readFileValue } from '@runledger/contracts/catalogue/workflow-inputs';
import { isJsonObject } from '@runledger/contracts/json';
import { actOnEach } from '../act-on-each.ts';
import { ofCompleteViews, type FreshViews } from '../views/fresh-views.ts';
import { lacksOf } from '../views/projection-start.decide.ts';
import { outputsToErase, type StoredView } from '../views/run-view.ts';
import type { RunViews } from '../views/run-views.ts';
import type { Kit } from '../kit.ts';
import { eraseBlobs, unreferencedByRuns } from '../files/blobs.ts';
import type { Upkeep, Work } from './keeper.ts';
import type { OutputStore } from '../files/output-store.ts';
import type { Files } from '../files/files.ts';
import type { Archive } from '../archive/archive.ts';
import { timersOfOrg } from '@runledger/contracts/deliveries/timers';
import { orgLogsFilter } from '@runledger/contracts/run-logs';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { everyEntry, type Bucket } from '@runledger/event-log/streams/bucket';
import {
  FILES,
  UPLOADS,
  removeParts,
  type FileRecords,
  type StoredFile,
  type Upload,
} from '../files/file-records.ts';

const PAGE = 200;
const MAX_CONCURRENT = 8;

/**
 * Erases the files of deleted runs and outputs, and the logs, input files and blobs of deleted runs. A view says what is
 * left to erase until all of it is erased, so a crash in between loses nothing.
 */
export const eraseDeleted = (kit: Kit, { fresh, files, archive }: Upkeep, eraseFiles: EraseFiles): Work => {
  const { log, views, stores, metrics } = kit;
  const eraseInputs = eraseInputFiles(files, stores.blobs);
  const erase = eraseBlobs(stores.blobs, unreferencedByRuns(views, fresh), ({ bytes }) =>
    metrics.erased('BLOBS', bytes),
  );
  const eraseOne = async (view: StoredView): Promise<void> => {
    const { run } = view;
    const outputs = outputsToErase(run);
    if (!outputs) return;
    const bytes = await eraseFiles(run.org_id, outputs);
    if (isDeleted(run)) {
      await eraseLogs(log, run);
      await eraseInputs(run.org_id, outputs.files);
      // The list names the files, so the view has kept it until now.
      const unlisted = { ...view, run: { ...run, to_erase: { ...outputs, ...NO_OUTPUTS } } };
      if (outputs.outputs_blob) await views.save([unlisted]);
      if (!(await erase(run.org_id, outputs.blobs ?? []))) return;
      // Until then the archive has what names all this: views that are lost meanwhile are made from there.
      await archive.erase(run, 'run', () => views.save([{ ...view, run: { ...run, to_erase: null } }]));
    } else if (isEnded(run) && run.deleted_outputs) {
      const deleted_outputs = { ...run.deleted_outputs, to_erase: null };
      await archive.erase(run, 'outputs', () => views.save([{ ...view, run: { ...run, deleted_outputs } }]));
      // What a crash leaves here goes with the sweep.
      if (outputs.outputs_blob) await erase(run.org_id, [outputs.outputs_blob]);
    }
    metrics.removed('deletion', { runs: isDeleted(run) ? 1 : 0, bytes });
  };
  return async (stopping) => {
    const failures: unknown[] = [];
    // One that fails holds up no other.
    const eraseAlone = async (view: StoredView): Promise<void> => {
      if (!stopping.aborted) await eraseOne(view).catch((error: unknown) => failures.push(error));
    };
    for (let after: string | undefined = ''; after !== undefined && !stopping.aborted;) {
      const page: readonly StoredView[] = await views.listToErase({ after, limit: PAGE });
      await actOnEach(await thatAreKnown(views, fresh, page, after), eraseAlone, MAX_CONCURRENT);
      after = page.at(-1)?.run.run_id;
    }
    if (failures.length > 0) throw failures[0];
  };
};

/**
 * A view that was made of the deletion alone names nothing to erase. While views lack facts, that says nothing: what names the files may be
 * in the archive, which is erased next.
 */
const thatAreKnown = async (
  views: RunViews,
  fresh: FreshViews,
  page: readonly StoredView[],
  after: string,
): Promise<readonly StoredView[]> => {
  if (!page.some(namesNothing)) return page;
  const known = await ofCompleteViews(views, fresh, 'each', async (at) => {
    const again: readonly StoredView[] = await views.listToErase({ after, limit: PAGE });
    return again.filter((view) => !namesNothing(view) || !lacksOf(at, view.run.org_id));
  });
  return known ?? page.filter((view) => !namesNothing(view));
};

const namesNothing = ({ run }: StoredView): boolean => isDeepStrictEqual(outputsToErase(run), NO_OUTPUTS);

/**
 * Erases the files that are listed, and may be repeated. Nobody knows the files of an attempt that was lost: they expire.
 * The result is the bytes of the files that were there. @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export type EraseFiles = (org_id: OrgId, outputs: OutputListing) => Promise<number>;

export const eraseFiles =
  (store: OutputStore, lists: OutputLists): EraseFiles =>
  async (org_id, outputs) => {
    const files = storedFiles(await lists.listed(org_id, outputs));
    const eraseOne = async ({ key, bytes }: (typeof files)[number]) =>
      (await store.remove(key)) ? bytes : 0;
    const erased = await actOnEach(files, eraseOne, MAX_CONCURRENT);
    return erased.reduce((sum, bytes) => sum + bytes, 0);
  };

/** Erases the files that were made of a run's inputs and that nobody else named. @throws {LogUnavailable} @throws {OutputStoreUnavailable} */
const eraseInputFiles =
  (files: Files, blobs: BlobStore) =>
  async (org_id: OrgId, named: LeftToErase['files']): Promise<void> => {
    if (!named) return;
    const { names, inputs, inputs_blob } = named;
    const kept = readInlineOrBlob(inputs, inputs_blob);
    const found = kept.kind === 'inline' ? kept : await readJsonBlob(blobs, org_id, kept.ref.sha256);
    // Inputs that are lost name nothing any more: these files expire.
    if (!('value' in found) || !isJsonObject(found.value)) return;
    for (const name of names) {
      for (const value of namedFiles(found.value[name])) {
        const file = readFileValue(value);
        if (file?.kind === 'id') await files.remove(org_id, file.id, 'of_one_run');
      }
    }
  };

/**
 * What is stored under the id of an organisation and names nothing elsewhere. Its keys, runs and files are erased in other ways, and its
 * erasure, `erasures.<org_id>` in CATALOGUE, stays.
 */
const subjectsOf = (org_id: OrgId): readonly (readonly [stream: string, subjects: string])[] => [
  ['KV_CATALOGUE', `$KV.CATALOGUE.*.${org_id}.>`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.retention.${org_id}`],
  ['KV_CATALOGUE', `$KV.CATALOGUE.organisations.${org_id}`],
  // The markers of its files, which are erased before.
  ['KV_FILES', `$KV.FILES.*.${org_id}.>`],
  ['KV_WEBHOOK_SECRETS', `$KV.WEBHOOK_SECRETS.${org_id}`],
  ['LOGS', orgLogsFilter(org_id)],
  ['ACTIVITY', `activity.${org_id}.>`],
  ['DELIVERY_ATTEMPTS', `delivery_attempts.${org_id}.>`],
  ['TIMERS', timersOfOrg(org_id)],
];

/** Resolves with how many messages there were. @throws {LogUnavailable} */
export const eraseStored = async (
  { log, stores: { workflows, blobs } }: Kit,
  archive: Archive,
  org_id: OrgId,
): Promise<number> => {
  let erased = (await workflows.eraseAll(org_id)) + (await blobs.eraseAll(org_id));
  erased += await archive.eraseOrganisation(org_id);
  for (const [stream, subjects] of subjectsOf(org_id)) erased += await eraseSubjects(log, stream, subjects);
  return erased;
};

/**
 * Erases all files that clients of an organisation uploaded, and uploads. An upload in progress fails, since its record is gone. The
 * record goes last: it names what is left. @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export const eraseFilesOf = async (
  { files, uploads }: FileRecords,
  store: OutputStore,
  org_id: OrgId,
): Promise<number> => {
  const eraseAll = async (bucket: Bucket<StoredFile | Upload>, kind: string): Promise<number> => {
    let erased = 0;
    const entries = everyEntry((behind) => bucket.next(`${kind}.${org_id}`, behind));
    for await (const { value, key, revision } of entries) {
      const coming = 'coming' in value && value.coming ? [value.coming] : [];
      await removeParts(store, [...value.parts, ...coming]);
      await bucket.eraseAt(key, revision);
      erased += 1;
    }
    return erased;
  };
  return (await eraseAll(files, FILES)) + (await eraseAll(uploads, UPLOADS));
};
