import { Type, type Static } from 'typebox';
import { orgId, type OrgId } from './ids.ts';

/** In lower-case hexadecimal. */
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/**
 * Bytes in an object store, by their hash. Each organisation has its own blobs: a reference means one of the organisation
 * that the referring fact or record belongs to.
 */
export const BlobRef = Type.Object({ sha256: Sha256, bytes: Type.Integer({ minimum: 1 }) });
export type BlobRef = Static<typeof BlobRef>;

/**
 * For the schema of an object that keeps a value of at most MAX_INLINE_BYTES itself, in `inline`, and refers to a larger one
 * in `blob`: exactly one of the two members is not null.
 */
export const inlineOrBlob = (inline: string, blob: string): { readonly oneOf: object[] } => ({
  oneOf: [inline, blob].map((name) => ({ properties: { [name]: Type.Null() } })),
});

/** A value that an event has itself, or as a blob. */
export type InlineOrBlob<Value> =
  | { readonly kind: 'inline'; readonly value: Value }
  | { readonly kind: 'blob'; readonly ref: BlobRef };

/** Reads the two members of such an object. */
export const readInlineOrBlob = <Value>(inline: Value | null, blob: BlobRef | null): InlineOrBlob<Value> => {
  if (inline !== null) return { kind: 'inline', value: inline };
  if (blob !== null) return { kind: 'blob', ref: blob };
  throw new TypeError('An event has neither a value nor a reference to it: its schema was not checked');
};

/** The streams of blobs, and the first token of their subjects. Workflows never expire; inputs and lists of outputs do. */
const BLOB_SUBJECTS = { WORKFLOWS: 'workflows', BLOBS: 'blobs' } as const;
export type BlobStream = keyof typeof BLOB_SUBJECTS;
export const BLOB_STREAMS = Object.keys(BLOB_SUBJECTS) as BlobStream[];

const SHA256 = /^[0-9a-f]{64}$/;

/** Where the blob of an organisation is. @throws TypeError for text that cannot be in a subject */
export const blobSubject = (stream: BlobStream, org_id: string, sha256: string): string => {
  if (!SHA256.test(sha256)) {
    throw new TypeError(`"${sha256}" is not a SHA-256: 64 lower-case hexadecimal digits are expected`);
  }
  return `${BLOB_SUBJECTS[stream]}.${orgId(org_id)}.${sha256}`;
};

/** The blob that is under a subject of the stream. @throws TypeError for any other subject */
export const parseBlobSubject = (
  stream: BlobStream,
  subject: string,
): { readonly org_id: OrgId; readonly sha256: string } => {
  const [first, org = '', sha256 = '', ...others] = subject.split('.');
  if (first !== BLOB_SUBJECTS[stream] || others.length > 0 || !SHA256.test(sha256)) {
    throw new TypeError(`"${subject}" is not the subject of a blob in ${stream}`);
  }
  return { org_id: orgId(org), sha256 };
};

/** All blobs of an organisation. */
export const orgBlobs = (stream: BlobStream, org_id: OrgId): string => `${BLOB_SUBJECTS[stream]}.${org_id}.*`;

/** All blobs of a stream. */
export const allBlobs = (stream: BlobStream): string => `${BLOB_SUBJECTS[stream]}.*.*`;
