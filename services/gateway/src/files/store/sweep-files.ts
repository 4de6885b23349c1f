import type { Bucket, Entry } from '@runledger/event-log/streams/bucket';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { OutputStore } from '../../outputs/store/output-store.ts';
import { whileProjecting } from '../../projection/while-projecting.ts';
import {
  fileKey,
  FILES,
  UPLOADS,
  type FileRecords,
  type Part,
  type StoredFile,
  type Upload,
} from './file-records.ts';
import { UPLOAD_KEPT_MS } from './file-lifetime.ts';
import { removeParts } from './remove-parts.ts';

export interface SweepFilesOptions {
  readonly records: FileRecords;
  readonly store: Pick<OutputStore, 'remove'>;
  readonly fileKeptMs: number;
  readonly brokerTime: () => Promise<Date>;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const FILES_SWEPT_EVERY_MS = 60_000;

/** Erases the files and uploads that have expired, until it is disposed of. */
export const openFileSweep = (options: SweepFilesOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'expired files could not be erased',
    everyMs: FILES_SWEPT_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => sweepFiles(options, stop),
  });

/** A record goes before its parts: after a kill in between, the parts take room until the store expires them. */
export const sweepFiles = async (
  { records, store, fileKeptMs, brokerTime, logger }: Omit<SweepFilesOptions, 'isProjecting'>,
  stop: AbortSignal,
): Promise<void> => {
  const erase = async <Stored extends StoredFile | Upload>(
    bucket: Bucket<Stored>,
    { key, value, revision }: Entry<Stored>,
    parts: readonly Pick<Part, 'key'>[],
  ): Promise<void> => {
    if (!(await bucket.eraseAt(key, revision))) return;
    await removeParts(store, parts);
    const { org_id, id, bytes } = value;
    logger.info({ org_id, file: id, bytes }, 'a file that expired was erased');
  };
  for await (const entry of expired(records.files, FILES, fileKeptMs, brokerTime, stop))
    await erase(records.files, entry, entry.value.parts);
  for await (const entry of expired(records.uploads, UPLOADS, UPLOAD_KEPT_MS, brokerTime, stop))
    await erase(records.uploads, entry, await ownParts(records, entry.value));
};

/** In the order of their last changes, so that the first one which is not expired is the last one to look at. */
async function* expired<Stored>(
  bucket: Pick<Bucket<Stored>, 'next'>,
  kind: string,
  keptMs: number,
  brokerTime: () => Promise<Date>,
  stop: AbortSignal,
): AsyncGenerator<Entry<Stored>> {
  for (let behind = 0; !stop.aborted;) {
    const entry = await bucket.next(kind, behind);
    if (!entry || (await brokerTime()).getTime() < entry.changedAt.getTime() + keptMs) return;
    yield entry;
    behind = entry.revision;
  }
}

/** Without those that its file has. */
const ownParts = async (
  { files }: FileRecords,
  { org_id, parts, coming, file_id }: Upload,
): Promise<Pick<Part, 'key'>[]> => {
  const file = file_id === null ? undefined : await files.get(fileKey({ org_id, id: file_id }));
  const taken = new Set(file?.value.parts.map(({ key }) => key));
  return [...parts, ...(coming ? [coming] : [])].filter(({ key }) => !taken.has(key));
};
