import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import type { ExecutingRun } from '@runledger/contracts/fold/run';
import type { Kit } from '../../kit.ts';
import type { Middleware, Context } from 'koa';
import { problemOfFileName } from '@runledger/contracts/file-name';
import { MAX_OUTPUT_FILES } from '@runledger/contracts/limits';
import { Refused, invalid, invalidRequest, type Invalid } from '../../door/refusal.ts';
import { requestBody, lengthRequired } from '../../door/json-body.ts';
import { OutputStoreFull, type OutputStore } from '../../files/output-store.ts';
import type { AdmitUpload } from '../../records/quotas/quotas.ts';
import { newOutputKey, pathOf, attemptFiles, type AttemptFiles } from './attempt-files.ts';
import { namedAttempt, permittedRun } from './attempt-permission.ts';
import { contentTypeIn } from '../../door/responses.ts';

/** `PUT /executions/{org_id}/{run_id}/{attempt}/outputs`: an executor stores a file of its attempt. */
export const uploadRoute = (
  { config, log, logger, clock, metrics }: Kit,
  store: OutputStore,
  admit: AdmitUpload,
): Middleware => {
  const files = attemptFiles();
  return async (ctx) => {
    const named = namedAttempt(ctx);
    const { run, attempt } = named;
    const permitted = await permittedRun(log, ctx, named);
    const { bytes, filename, subfolder, type, content_type } = uploadRequest(
      ctx,
      config.RUNLEDGER_OUTPUT_FILE_MAX_BYTES,
    );
    const announced = announcedBytes(permitted.run, config.RUNLEDGER_OUTPUT_RUN_MAX_BYTES);
    using open = new DisposableStack();
    open.use(await admit(run.org_id, bytes));
    const key = newOutputKey(permitted.token, { subfolder, filename });
    const file = { path: pathOf({ subfolder, filename }), bytes, key };
    const begun = files.begin(run, attempt, file, { files: MAX_OUTPUT_FILES, bytes: announced });
    if (begun.kind !== 'begun') throw notBegun(begun, attempt);

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
    metrics.uploaded(bytes);
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
};

/** It ends the attempt. */
const refuseFullStore = (error: unknown): never => {
  if (!(error instanceof OutputStoreFull)) throw error;
  throw new Refused({ code: 'output_store_full', why: error.message });
};

/** The bytes of all its files, as the attempt has announced them in the log. @throws {Refused} */
const announcedBytes = ({ status, output_bytes }: ExecutingRun, mostBytes: number): number => {
  if (status !== 'uploading') {
    throw new Refused({
      code: 'output_not_announced',
      why: 'The attempt has not announced its files: RunUploading comes first',
    });
  }
  if (output_bytes <= mostBytes) return output_bytes;
  throw new Refused({
    code: 'outputs_too_large',
    why: `The files of a run may have at most ${mostBytes} bytes together, and those of this run have ${output_bytes}`,
  });
};

const notBegun = (
  begun: Exclude<ReturnType<AttemptFiles['begin']>, { readonly kind: 'begun' }>,
  attempt: number,
): Refused => {
  switch (begun.kind) {
    case 'too_many_files':
      return new Refused({
        code: 'too_many_outputs',
        why: `A run may store at most ${MAX_OUTPUT_FILES} files`,
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

interface UploadRequest {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: StoredFile['type'];
  readonly content_type: string;
  readonly bytes: number;
}

const MAX_SUBFOLDER = 1_024;

/** The description of the file that an executor is about to send. Refuses with 411, 413 or 422. */
const uploadRequest = (ctx: Context, maxBytes: number): UploadRequest => {
  const length = ctx.get('content-length');
  if (length === '') throw lengthRequired();
  const bytes = Number(length);
  if (!(bytes <= maxBytes)) {
    throw new Refused({
      code: 'file_too_large',
      why: `An output file may have at most ${maxBytes} bytes, and this one has ${length}`,
    });
  }
  const wrong: Invalid[] = [];
  const filename = single(ctx, 'filename') ?? '';
  const problem = problemOfFileName(filename);
  if (problem !== null) wrong.push(invalid(['query', 'filename'], 'value_error', `The file name ${problem}`));
  const subfolder = single(ctx, 'subfolder') ?? '';
  if (subfolder.length > MAX_SUBFOLDER || (subfolder !== '' && !isRelativePath(subfolder))) {
    const msg = 'A subfolder is a relative path of names between slashes, without "." and ".."';
    wrong.push(invalid(['query', 'subfolder'], 'value_error', msg));
  }
  const type = single(ctx, 'type') ?? 'output';
  const isKnown = type === 'output' || type === 'temp';
  if (!isKnown) wrong.push(invalid(['query', 'type'], 'enum', "Send 'output' or 'temp'"));
  if (wrong.length > 0 || !isKnown) throw invalidRequest(...wrong);
  const content_type = contentTypeIn(ctx.get('content-type'));
  return { filename, subfolder, type, content_type, bytes };
};

const single = (ctx: Context, name: string): string | undefined => {
  const value = ctx.query[name];
  return Array.isArray(value) ? value.at(-1) : value;
};

const isRelativePath = (path: string): boolean =>
  path.split('/').every((name) => problemOfFileName(name) === null);
