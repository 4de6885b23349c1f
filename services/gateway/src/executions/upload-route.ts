import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Middleware } from 'koa';
import { Refused } from '../http/refusal.ts';
import { requestBody } from '../http/request-body.ts';
import { OutputStoreFull, type OutputStore } from '../outputs/store/output-store.ts';
import type { AdmitUpload } from '../quotas/admit-upload.ts';
import type { AttemptFiles } from './attempt-files.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import { newOutputKey, pathOf } from './output-keys.ts';
import { uploadRequest } from './upload-request.ts';

interface UploadLimits {
  readonly fileBytes: number;
  /** Of all files of a run. */
  readonly runBytes: number;
  readonly files: number;
}

export interface UploadRoute {
  readonly log: EventLog;
  readonly store: OutputStore;
  readonly files: AttemptFiles;
  readonly admit: AdmitUpload;
  readonly limits: UploadLimits;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly onUploaded: (bytes: number) => void;
}

/** `PUT /executions/{org_id}/{run_id}/{attempt}/outputs`: an executor stores a file of its attempt. */
export const uploadRoute =
  ({ log, store, files, admit, limits, logger, clock, onUploaded }: UploadRoute): Middleware =>
  async (ctx) => {
    const named = namedAttempt(ctx);
    const { run, attempt } = named;
    const permitted = await permittedRun(log, ctx, named);
    const { bytes, filename, subfolder, type, content_type } = uploadRequest(ctx, limits.fileBytes);
    const announced = announcedBytes(permitted.run, limits);
    using open = new DisposableStack();
    open.use(await admit(run.org_id, bytes));
    const key = newOutputKey(permitted.token, { subfolder, filename });
    const file = { path: pathOf({ subfolder, filename }), bytes, key };
    const begun = files.begin(run, attempt, file, { files: limits.files, bytes: announced });
    if (begun.kind !== 'begun') throw notBegun(begun, attempt, limits);

    const began = clock();
    const cleanUp = async (removal: Promise<unknown>): Promise<void> => {
      // A file that stays takes space, but its address is unknown.
      await removal.catch((err: unknown) =>
        logger.warn({ err, run_id: run.run_id }, 'an output file could not be removed'),
      );
    };
    for (const left of begun.left) await cleanUp(store.remove(left));
    const storeFile = async (): Promise<{ readonly sha256: string; readonly replaced: string | null }> => {
      try {
        const { sha256 } = await store.put({ key, filename, content_type }, requestBody(ctx));
        // The attempt may have been lost during the upload.
        await permittedRun(log, ctx, named);
        const committed = files.commit(run, attempt, file);
        if (committed.kind === 'superseded') throw superseded(attempt);
        return { sha256, replaced: committed.replaced };
      } catch (error) {
        await cleanUp(store.remove(key));
        files.release(run, attempt, file);
        throw error;
      }
    };
    const { sha256, replaced } = await storeFile().catch(refuseFullStore);
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

/** @throws the error, as a refusal that ends the attempt when a store is full */
const refuseFullStore = (error: unknown): never => {
  throw error instanceof OutputStoreFull
    ? new Refused({ code: 'output_store_full', why: error.message })
    : error;
};

/** The bytes of all its files, as the attempt has announced them in the log. @throws {Refused} */
const announcedBytes = ({ status, output_bytes }: ExecutingRun, { runBytes }: UploadLimits): number => {
  if (status !== 'uploading') {
    throw new Refused({
      code: 'output_not_announced',
      why: 'The attempt has not announced its files: RunUploading comes first',
    });
  }
  if (output_bytes <= runBytes) return output_bytes;
  throw new Refused({
    code: 'outputs_too_large',
    why: `The files of a run may have at most ${runBytes} bytes together, and those of this run have ${output_bytes}`,
  });
};

const notBegun = (
  begun: Exclude<ReturnType<AttemptFiles['begin']>, { readonly kind: 'begun' }>,
  attempt: number,
  limits: UploadLimits,
): Refused => {
  switch (begun.kind) {
    case 'too_many_files':
      return new Refused({
        code: 'too_many_outputs',
        why: `A run may store at most ${limits.files} files`,
      });
    case 'not_announced':
      return new Refused({
        code: 'output_not_announced',
        why: `With this file the attempt would have stored ${begun.bytes} bytes, more than it has announced`,
      });
    case 'superseded':
      return superseded(attempt);
  }
};

const superseded = (attempt: number): Refused =>
  new Refused({
    code: 'output_superseded',
    why: `A later attempt than ${attempt} stores its files, or this file was sent again meanwhile`,
  });
