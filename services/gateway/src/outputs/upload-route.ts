import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { isOrgId, isRunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Context, Middleware } from 'koa';
import { bearerOf } from '../auth/bearer.ts';
import { Refused } from '../http/refusal.ts';
import { OutputStoreFull, type OutputStore } from './store/output-store.ts';
import { uploadPermission, type UploadPermission } from './upload-permission.ts';
import { uploadRequest } from './upload-request.ts';
import type { UploadReservations } from './upload-reservations.ts';

export interface UploadRoute {
  readonly log: EventLog;
  readonly store: OutputStore;
  readonly reservations: UploadReservations;
  readonly maxFileBytes: number;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly onUploaded: (bytes: number) => void;
}

const IDLE_MS = 60_000;
const ATTEMPT = /^[1-9]\d{0,5}$/;

/** `PUT /executions/{org_id}/{run_id}/{attempt}/outputs`: an executor stores a file of its attempt. */
export const uploadRoute =
  ({ log, store, reservations, maxFileBytes, logger, clock, onUploaded }: UploadRoute): Middleware =>
  async (ctx) => {
    const { key: run, attempt } = addressed(ctx);
    const token = bearerOf(ctx.req);
    const permission = async (): Promise<UploadPermission> =>
      token === undefined ? { kind: 'bad_token' } : uploadPermission(log, run, attempt, token);
    refuseUnlessGranted(await permission());
    const { bytes, filename, subfolder, type, content_type } = uploadRequest(ctx, maxFileBytes);
    const key = randomBytes(32).toString('base64url');
    const file = { path: subfolder === '' ? filename : `${subfolder}/${filename}`, bytes, key };
    const reserved = await reservations.reserve(run, attempt, file).catch(refuseWhenFull);
    if (reserved.kind === 'over_limit') throw new Refused({ kind: 'too_large', why: reserved.why });
    if (reserved.kind === 'superseded') throw superseded(attempt);

    const began = clock();
    const cleanUp = async (removal: Promise<unknown>): Promise<void> => {
      // A file that stays takes space, but its address is unknown.
      await removal.catch((err: unknown) =>
        logger.warn({ err, run_id: run.run_id }, 'an output file could not be removed'),
      );
    };
    for (const left of reserved.left) await cleanUp(store.remove(left));
    const storeFile = async (): Promise<{ readonly sha256: string; readonly replaced: string | null }> => {
      try {
        const { sha256 } = await store.put({ key, filename, content_type }, bodyOf(ctx.req));
        // The attempt may have been lost during the upload.
        refuseUnlessGranted(await permission());
        const committed = await reservations.commit(run, attempt, file);
        if (committed.kind === 'superseded') throw superseded(attempt);
        return { sha256, replaced: committed.replaced };
      } catch (error) {
        await cleanUp(store.remove(key));
        await cleanUp(reservations.release(run, attempt, file));
        throw error;
      }
    };
    const { sha256, replaced } = await storeFile().catch(refuseWhenFull);
    onUploaded(bytes);
    if (replaced !== null) await cleanUp(store.remove(replaced));
    const upload_duration = Math.round(clock() - began) / 1000;
    ctx.status = 201;
    ctx.body = {
      key,
      filename,
      subfolder,
      content_type,
      bytes,
      sha256,
      type,
      upload_duration,
    } satisfies StoredFile;
  };

const addressed = (ctx: Context): { readonly key: RunKey; readonly attempt: number } => {
  const { org_id, run_id, attempt }: Record<string, unknown> = ctx['params'] ?? {};
  const org = String(org_id);
  const run = String(run_id);
  const number = String(attempt);
  if (!isOrgId(org) || !isRunId(run) || !ATTEMPT.test(number)) throw new Refused({ kind: 'no_such_path' });
  return { key: { org_id: org, run_id: run }, attempt: Number(number) };
};

const refuseUnlessGranted = (permission: UploadPermission): void => {
  switch (permission.kind) {
    case 'granted':
      return;
    case 'bad_token':
      throw new Refused({ kind: 'not_authenticated', why: 'This is not the token of this attempt' });
    case 'not_current':
      throw new Refused({ kind: 'conflict', why: permission.why });
  }
};

/** @throws the error, as a refusal that ends the attempt when a store is full */
const refuseWhenFull = (error: unknown): never => {
  throw error instanceof OutputStoreFull ? new Refused({ kind: 'storage_full', why: error.message }) : error;
};

const superseded = (attempt: number): Refused =>
  new Refused({
    kind: 'conflict',
    why: `A later attempt than ${attempt} stores its files, or this file was sent again meanwhile`,
  });

/** The file as it arrives. A client that sends nothing for a minute is disconnected. */
async function* bodyOf(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`the client sent nothing for ${IDLE_MS / 1000} s`)));
  try {
    for await (const piece of req.iterator({ destroyOnReturn: false })) {
      yield Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    }
  } catch {
    throw new Refused({ kind: 'bad_request', why: 'The upload was interrupted; nothing of it was stored' });
  } finally {
    req.setTimeout(0);
  }
}
