import { createHash, randomBytes } from 'node:crypto';
import { orgId } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Logger } from '@runledger/event-log/connect/observability';
import { Refused } from '../door/refusal.ts';
import { OutputStoreFull, type OutputStore } from './output-store.ts';
import type { Quotas } from '../records/quotas/quotas.ts';
import { offsetOf, storedBytes, uploadKey, type Upload, type FileRecords } from './file-records.ts';

export interface ReceiveUpload extends ReceiveBytes {
  readonly quotas: Pick<Quotas, 'uploads'>;
  readonly onUploaded: (bytes: number) => void;
}

/** Stores the bytes of a request. @throws {Refused} @throws as `receiveBytes` does */
export const receiveUpload = async (
  options: ReceiveUpload,
  upload: Entry<Upload>,
  body: AsyncIterable<Uint8Array>,
): Promise<Extract<Received, { kind: 'received' }>> => {
  const { uploads } = options.quotas;
  const org_id = orgId(upload.value.org_id);
  if (uploads.refuses(org_id))
    throw new Refused({
      code: 'too_many_uploads',
      why: `The organisation has ${uploads.limit} uploads in progress at this gateway, which is its limit (RUNLEDGER_QUOTA_UPLOADS). Try again`,
    });
  using open = new DisposableStack();
  open.use(uploads.hold(org_id));
  const received = await receiveBytes(options, upload, body).catch(refuseWhenFull);
  switch (received.kind) {
    case 'received':
      options.onUploaded(offsetOf(received.upload.value) - offsetOf(upload.value));
      return received;
    case 'busy':
      throw new Refused({
        code: 'upload_busy',
        why: 'Another request stores bytes of this upload: continue when it has ended, where the upload then is',
      });
    case 'too_many_parts':
      throw new Refused({
        code: 'upload_interrupted_too_often',
        why: 'This upload was interrupted too often: begin another one',
      });
  }
};

const refuseWhenFull = (error: unknown): never => {
  throw error instanceof OutputStoreFull
    ? new Refused({ code: 'output_store_full', why: error.message })
    : error;
};

interface ReceiveBytes {
  readonly records: FileRecords;
  readonly store: OutputStore;
  /** The broker's time. */
  readonly brokerTime: () => Promise<Date>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
}

type Received =
  /** `sha256` is known when all bytes came with this request. */
  | { readonly kind: 'received'; readonly upload: Entry<Upload>; readonly sha256: string | undefined }
  /** Another request stores bytes of this upload. */
  | { readonly kind: 'busy' }
  /** It was interrupted too often: a record has room for so many parts only. */
  | { readonly kind: 'too_many_parts' };

const MiB = 1024 ** 2;
/** What a kill of the gateway may lose. */
const LEAST_PART_BYTES = 8 * MiB;
const USUAL_PARTS = 400;
const MAX_PARTS = 2_000;
/** A writer that has received something says so this often. One that was silent for the other time may be dead. */
const SAYS_SO_EVERY_MS = 2_000;
const SILENT_AFTER_MS = 6_000;

/**
 * Stores the bytes of a body behind those that an upload has, in parts. The record has a part only when it is stored completely,
 * and names the one that is being stored, so after a kill nothing is left that no record names. Whoever changes the record first
 * stores the next part: of two requests, one is refused.
 * @throws {OutputStoreFull} @throws {OutputStoreUnavailable} @throws {LogUnavailable}; parts before stay
 */
const receiveBytes = async (
  options: ReceiveBytes,
  upload: Entry<Upload>,
  body: AsyncIterable<Uint8Array>,
): Promise<Received> => {
  const { store, newId } = options;
  if (await isBeingWritten(options, upload)) return { kind: 'busy' };
  const lost = upload.value.coming;
  const claim = claimOf(options, upload, newId());
  if (!(await claim.begin())) return { kind: 'busy' };
  if (lost !== null) await removeQuietly(options, lost.key);

  await using cut = cutBody(body);
  const partBytes = Math.max(LEAST_PART_BYTES, Math.ceil(upload.value.bytes / USUAL_PARTS));
  const hash = storedBytes(upload.value.parts) === 0 ? createHash('sha256') : undefined;
  const hashed = async function* (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      hash?.update(piece);
      await claim.stillWriting();
      yield piece;
    }
  };
  const storePart = async (): Promise<'stored' | 'busy'> => {
    const part = claim.next();
    const pieces = hashed(cut.part(Math.min(partBytes, claim.left())));
    try {
      const { bytes } = await store.put(part, pieces);
      if (bytes > 0 && (await claim.add({ key: part.key, bytes }))) return 'stored';
      await removeQuietly(options, part.key);
      return bytes > 0 ? 'busy' : 'stored';
    } catch (error) {
      await removeQuietly(options, part.key);
      if (error instanceof ClaimLost) return 'busy';
      await claim.release().catch(() => false);
      throw error;
    }
  };
  while (claim.left() > 0 && !cut.ended() && claim.parts() < MAX_PARTS)
    if ((await storePart()) === 'busy') return { kind: 'busy' };
  if (!(await claim.release())) return { kind: 'busy' };
  if (claim.left() > 0 && !cut.ended()) return { kind: 'too_many_parts' };
  return {
    kind: 'received',
    upload: claim.entry(),
    sha256: claim.left() === 0 ? hash?.digest('hex') : undefined,
  };
};

/** What the store keeps of a part beside its bytes. The record has the name and the type of the file. */
const PART = { filename: 'part', content_type: 'application/octet-stream' };

const isBeingWritten = async (
  { brokerTime }: ReceiveBytes,
  { value, changedAt }: Entry<Upload>,
): Promise<boolean> =>
  value.coming !== null && (await brokerTime()).getTime() - changedAt.getTime() < SILENT_AFTER_MS;

/** The right to add parts, for as long as nobody else changes the record. */
const claimOf = ({ records, clock }: ReceiveBytes, first: Entry<Upload>, writer: string) => {
  let entry = first;
  let saidAt = clock();
  const write = async (value: Upload): Promise<boolean> => {
    const revision = await records.uploads.update(uploadKey(value), value, entry.revision);
    if (revision === false) return false;
    entry = { ...entry, value, revision };
    saidAt = clock();
    return true;
  };
  const coming = (): Upload['coming'] => ({ key: newPartKey(), writer });
  return {
    entry: () => entry,
    left: () => entry.value.bytes - storedBytes(entry.value.parts),
    parts: () => entry.value.parts.length,
    begin: () => write({ ...entry.value, coming: coming() }),
    next: () => ({ ...PART, key: entry.value.coming?.key ?? newPartKey() }),
    add: (part: Upload['parts'][number]) =>
      write({ ...entry.value, parts: [...entry.value.parts, part], coming: coming() }),
    stillWriting: async () => {
      if (clock() - saidAt < SAYS_SO_EVERY_MS) return;
      if (!(await write(entry.value))) throw new ClaimLost();
    },
    release: () => write({ ...entry.value, coming: null }),
  };
};

class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
}

const removeQuietly = async ({ store, logger }: ReceiveBytes, key: string): Promise<void> => {
  // What stays takes room until the store expires it, and nothing names it.
  await store
    .remove(key)
    .catch((err: unknown) => logger.warn({ err }, 'a part of a file could not be removed'));
};

/** A body that is read in parts, one after the other. */
interface CutBody extends AsyncDisposable {
  /** The next bytes, at most so many. Nothing when the body has ended. */
  part(maxBytes: number): AsyncGenerator<Uint8Array, void>;
  /** The body has ended, or its connection broke. */
  readonly ended: () => boolean;
}

/** A broken connection ends the body: what arrived before is kept, and the client continues behind it. */
const cutBody = (body: AsyncIterable<Uint8Array>): CutBody => {
  const pieces = body[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  let ended = false;
  const next = async (): Promise<Uint8Array | undefined> => {
    if (rest.byteLength > 0) return rest;
    if (ended) return undefined;
    const read = await pieces.next().catch(() => ({ done: true, value: undefined }));
    if (read.done !== true) return read.value;
    ended = true;
    return undefined;
  };
  return {
    part: async function* (maxBytes) {
      for (let left = maxBytes; left > 0;) {
        const piece = await next();
        if (piece === undefined) return;
        const taken = piece.subarray(0, left);
        rest = piece.subarray(taken.byteLength);
        left -= taken.byteLength;
        if (taken.byteLength > 0) yield taken;
      }
    },
    ended: () => ended,
    // Whoever answers a client before it has sent everything reads the rest.
    [Symbol.asyncDispose]: async () => void (await pieces.return?.()),
  };
};

const KEY_BYTES = 32;

/** Unguessable: the address of an output is made of such a key, and nobody may read a part there. */
export const newPartKey = (): string => randomBytes(KEY_BYTES).toString('base64url');
