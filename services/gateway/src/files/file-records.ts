import { Sha256 } from '@runledger/contracts/blobs';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Bucket, type Entry } from '@runledger/event-log/streams/bucket';
import { openTables, type Tables } from '@runledger/event-log/table/table';
import { Type, type Static } from 'typebox';
import type { OrgId } from '@runledger/contracts/ids';
import { sortKeyOf } from '../records/catalogue/records.ts';
import { OutputStoreUnavailable, type ByteSpan, type OutputStore } from './output-store.ts';

/** Of what is stored of a file: the key of its object. */
export type PartKey = Pick<Part, 'key'>;

/** Bytes in the output store, under a key that was never used before and is in one record. */
const Part = Type.Object({ key: Type.String(), bytes: Type.Integer({ minimum: 1 }) });
export type Part = Static<typeof Part>;

const common = {
  id: Type.String(),
  org_id: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  /** Of the whole file. */
  bytes: Type.Integer({ minimum: 0 }),
  /** In order. */
  parts: Type.Array(Part),
  /** Made of the inputs of a run, or sent to be a model, and named by nobody else since: it is erased with the run, or when the model is kept. */
  of_one_run: Type.Optional(Type.Literal(true)),
};

/** A whole file. Its id is made of the organisation and the hash, so equal bytes have one record. */
const StoredFile = Type.Object({
  ...common,
  sha256: Sha256,
  /** When its first part may have been stored. The output store keeps no part longer than its own time. */
  stored_at: Type.String(),
});
export type StoredFile = Static<typeof StoredFile>;

/** A file that is being uploaded. */
const Upload = Type.Object({
  ...common,
  begun_at: Type.String(),
  /** The key of the part that is being stored, and who stores it; null while nobody does. */
  coming: Type.Union([Type.Object({ key: Type.String(), writer: Type.String() }), Type.Null()]),
  /** The file that its bytes are, once all have arrived. Without parts, that file has them. */
  file_id: Type.Union([Type.String(), Type.Null()]),
});
export type Upload = Static<typeof Upload>;

/** What is held in memory of a file: its parts may be many. */
const kept = ({ id, filename, content_type, bytes, sha256, stored_at }: StoredFile) => ({
  id,
  filename,
  content_type,
  bytes,
  sha256,
  stored_at,
});
export type RetainedFile = ReturnType<typeof kept>;

/** The order of the list of files. */
export const fileSortKey = ({ id, stored_at }: RetainedFile): string =>
  sortKeyOf({ id, created_at: stored_at });

/** Records by `<kind>.<organisation>.<id>`. Each change is a compare-and-set, and counts as a use: records expire in the order of changes. */
export interface FileRecords {
  readonly files: Tables<StoredFile, RetainedFile>;
  readonly uploads: Bucket<Upload>;
}

/** The records, and what they name. */
export interface StoredFiles {
  readonly records: FileRecords;
  readonly store: OutputStore;
}

export const FILES = 'files';
export const UPLOADS = 'uploads';

interface Owned {
  readonly org_id: string;
  readonly id: string;
}

export const fileKey = ({ org_id, id }: Owned): string => `${FILES}.${org_id}.${id}`;
export const uploadKey = ({ org_id, id }: Owned): string => `${UPLOADS}.${org_id}.${id}`;

export const fileRecords = (log: EventLog): FileRecords => ({
  files: openTables(log, {
    bucket: 'FILES',
    prefix: FILES,
    schema: StoredFile,
    keep: kept,
    sortKey: fileSortKey,
  }),
  uploads: openBucket(log, 'FILES', Upload),
});

/** All its bytes are stored. */
export const isComplete = (upload: Upload): boolean => offsetOf(upload) === upload.bytes;

/** The bytes that are stored. Those of a finished upload are in its file. */
export const offsetOf = ({ bytes, parts, file_id }: Upload): number =>
  file_id === null ? storedBytes(parts) : bytes;

export const storedBytes = (parts: readonly Part[]): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0);

/** From the last bytes that arrived. */
export const UPLOAD_KEPT_MS = 24 * 3_600_000;

export interface FileTimes {
  /** How long a file is kept from its last use on. */
  readonly fileRetentionMs: number;
  /** How long the output store keeps a part. */
  readonly partRetentionMs: number;
}

/** Milliseconds since 1970. */
export const fileExpiresAt = (
  { value, changedAt }: Entry<RetainedFile>,
  { fileRetentionMs, partRetentionMs }: FileTimes,
): number => Math.min(changedAt.getTime() + fileRetentionMs, Date.parse(value.stored_at) + partRetentionMs);

export const uploadExpiresAt = ({ changedAt }: Entry<Upload>): number => changedAt.getTime() + UPLOAD_KEPT_MS;

/** Bytes of the parts of a file, at the pace of the caller. Without a span, all of them. */
export async function* readParts(
  store: OutputStore,
  parts: readonly Part[],
  { first, last }: ByteSpan = { first: 0, last: storedBytes(parts) - 1 },
): AsyncGenerator<Uint8Array> {
  let begin = 0;
  for (const { key, bytes } of parts) {
    const end = begin + bytes - 1;
    if (end >= first && begin <= last) {
      const stored = await store.find(key);
      if (stored?.bytes !== bytes)
        throw new OutputStoreUnavailable('A part of a file is no longer in the store.');
      yield* store.read(stored, {
        first: Math.max(first - begin, 0),
        last: Math.min(last - begin, bytes - 1),
      });
    }
    begin += bytes;
  }
}

/** Those that are gone already count as removed. After a failure, what is left expires with the store's own age. */
export const removeParts = async (store: OutputStore, parts: readonly PartKey[]): Promise<void> => {
  for (const { key } of parts) await store.remove(key);
};

/** What an organisation has: records, and bytes of files and unfinished uploads. @throws {LogUnavailable} */
export const sumFiles = async (
  { files, uploads }: FileRecords,
  org_id: OrgId,
): Promise<{ readonly files: number; readonly bytes: number }> => {
  const [stored, begun] = await Promise.all([files.of(org_id).now(), uploads.list(`${UPLOADS}.${org_id}`)]);
  const unfinished = begun.filter(({ value }) => value.file_id === null);
  const bytes = [...stored.all(), ...unfinished].reduce((sum, { value }) => sum + value.bytes, 0);
  return { files: stored.size + begun.length, bytes };
};
