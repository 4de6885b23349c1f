import { createHash, randomBytes } from 'node:crypto';
import { orgId } from '@runledger/contracts/ids';
import type { Entry } from '@runledger/event-log/streams/bucket';
import type { Logger } from '@runledger/event-log/connect/observability';
import { Refused } from '../door/refusal.ts';
import { OutputStoreFull } from './output-store.ts';
import type { Quotas } from '../records/quotas/quotas.ts';
import { offsetOf, storedBytes, uploadKey, type StoredFiles, type Upload } from './file-records.ts';

export interface ReceiveUpload extends StoredFiles {
  readonly quotas: Pick<Quotas, 'uploads'>;
  /** The broker's time. */
  readonly brokerTime: () => Promise<Date>;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly onUploaded: (bytes: number) => void;
}

/** What came with a request. `sha256` is known when that was the whole file. */
interface Received {
  readonly upload: Entry<Upload>;
  readonly sha256: string | undefined;
}

/** Stores the bytes of a request. @throws {Refused} @throws {OutputStoreUnavailable} @throws {LogUnavailable}; parts before stay */
export const receiveUpload = async (
  options: ReceiveUpload,
  upload: Entry<Upload>,
  body: AsyncIterable<Uint8Array>,
): Promise<Received> => {
  const { uploads } = options.quotas;
  const org_id = orgId(upload.value.org_id);
  if (uploads.refuses(org_id))
    throw new Refused({
      code: 'too_many_uploads',
      why: `The organisation has ${uploads.limit} uploads in progress at this gateway, which is its limit (RUNLEDGER_QUOTA_UPLOADS). Try again`,
    });
  using open = new DisposableStack();
  open.use(uploads.hold(org_id));
  try {
    const received = await receiveBytes(options, upload, body);
    options.onUploaded(offsetOf(received.upload.value) - offsetOf(upload.value));
    return received;
  } catch (error) {
    throw error instanceof OutputStoreFull
      ? new Refused({ code: 'output_store_full', why: error.message })
      : error;
  }
};

/** Another request stores bytes of this upload. */
const busy = (): Refused =>
  new Refused({
    code: 'upload_busy',
    why: 'Another request stores bytes of this upload: continue when it has ended, where the upload then is',
  });

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
 */
const receiveBytes = async (
  options: ReceiveUpload,
  upload: Entry<Upload>,
  body: AsyncIterable<Uint8Array>,
): Promise<Received> => {
  const { store, newId } = options;
  if (await isBeingWritten(options, upload)) throw busy();
  const lost = upload.value.coming;
  const claim = claimOf(options, upload, newId());
  await claim.begin();
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
  const storePart = async (): Promise<void> => {
    const part = claim.next();
    try {
      const { bytes } = await store.put(part, hashed(cut.part(Math.min(partBytes, claim.left()))));
      if (bytes > 0) await claim.add({ key: part.key, bytes });
      else await removeQuietly(options, part.key);
    } catch (error) {
      await removeQuietly(options, part.key);
      if (!(error instanceof Refused)) await claim.release().catch(() => undefined);
      throw error;
    }
  };
  while (claim.left() > 0 && !cut.ended() && claim.parts() < MAX_PARTS) await storePart();
  await claim.release();
  // A record has room for so many parts only.
  if (claim.left() > 0 && !cut.ended())
    throw new Refused({
      code: 'upload_interrupted_too_often',
      why: 'This upload was interrupted too often: begin another one',
    });
  return { upload: claim.entry(), sha256: claim.left() === 0 ? hash?.digest('hex') : undefined };
};

/** What the store keeps of a part beside its bytes. The record has the name and the type of the file. */
const PART = { filename: 'part', content_type: 'application/octet-stream' };

const isBeingWritten = async (
  { brokerTime }: ReceiveUpload,
  { value, changedAt }: Entry<Upload>,
): Promise<boolean> =>
  value.coming !== null && (await brokerTime()).getTime() - changedAt.getTime() < SILENT_AFTER_MS;

/** The right to add parts, for as long as nobody else changes the record: then each method throws that it is busy. */
const claimOf = ({ records, clock }: ReceiveUpload, first: Entry<Upload>, writer: string) => {
  let entry = first;
  let saidAt = clock();
  const write = async (value: Upload): Promise<void> => {
    const revision = await records.uploads.update(uploadKey(value), value, entry.revision);
    if (revision === false) throw busy();
    entry = { ...entry, value, revision };
    saidAt = clock();
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
      if (clock() - saidAt >= SAYS_SO_EVERY_MS) await write(entry.value);
    },
    release: () => write({ ...entry.value, coming: null }),
  };
};

const removeQuietly = async ({ store, logger }: ReceiveUpload, key: string): Promise<void> => {
  // What stays takes room until the store expires it, and nothing names it.
  await store
    .remove(key)
    .catch((err: unknown) => logger.warn({ err }, 'a part of a file could not be removed'));
};

/**
 * A body that is read in parts, one after the other. A broken connection ends it: what arrived before is kept, and the client continues
 * behind it.
 */
const cutBody = (body: AsyncIterable<Uint8Array>) => {
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
    /** The next bytes, at most so many. Nothing when the body has ended. */
    part: async function* (maxBytes: number): AsyncGenerator<Uint8Array, void> {
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
