import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import type { Assignment } from '../attempt/core/assignment.ts';
import type { Storing } from '../attempt/core/end-of-attempt.ts';
import type { OutputFile } from '../runner/runner.ts';
import { contentTypeOf } from './content-type.ts';
import { putFile, STORAGE_FULL } from './put-file.ts';
import { uploadSpan } from './upload-span.ts';

export interface StoredFiles {
  readonly storing: Storing;
  readonly files: readonly StoredFile[];
}

export interface StoreSettings {
  readonly gateway: URL;
  readonly signAttempt: (assignment: Assignment) => Promise<string>;
  readonly log: { warn(fields: object, message: string): void };
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** The gateway may read the assignment a little later than this executor, and refuses the attempt until then. */
const MAX_NOT_CURRENT = 6;

/**
 * Stores the files of an attempt through the gateway, one after the other. While the gateway is unavailable it waits; files that
 * the gateway has stored count, also when the run is cancelled meanwhile.
 */
export const storeFiles = async (
  settings: StoreSettings,
  assignment: Assignment,
  files: readonly OutputFile[],
  stop: AbortSignal,
): Promise<StoredFiles> => {
  const upload = { assignment, token: await settings.signAttempt(assignment) };
  const stored: StoredFile[] = [];
  for (const file of files) {
    const result = await storeFile(settings, upload, file, stop);
    if (result.kind !== 'file') return { storing: result, files: stored };
    stored.push(result.file);
  }
  return { storing: { kind: 'stored' }, files: stored };
};

interface Upload {
  readonly assignment: Assignment;
  readonly token: string;
}

type StoredOrNot =
  | { readonly kind: 'file'; readonly file: StoredFile }
  | Exclude<Storing, { readonly kind: 'stored' }>;

const storeFile = async (
  { gateway, log }: StoreSettings,
  { assignment, token }: Upload,
  file: OutputFile,
  stop: AbortSignal,
): Promise<StoredOrNot> => {
  const { run_id, attempt } = assignment;
  const { filename, bytes } = file;
  const target = { url: uploadUrl(gateway, assignment, file), token, contentType: contentTypeOf(filename) };
  const delays = backoff({ firstMs: FIRST_RETRY_MS, longestMs: MAX_RETRY_MS });
  let notCurrent = 0;
  while (!stop.aborted) {
    const result = await uploadSpan(assignment, bytes, () => putFile(file, target, stop));
    if (result.kind === 'stored') return { kind: 'file', file: result.file };
    if (result.kind === 'refused') return refusal(file, result);
    if (result.kind === 'not_current') notCurrent += 1;
    if (notCurrent > MAX_NOT_CURRENT) {
      return { kind: 'refused', reason: 'internal_error', why: result.why };
    }
    if (!stop.aborted) {
      log.warn({ run_id, attempt, file: filename, why: result.why }, 'storing a file again');
    }
    const waitMs = (result.kind === 'unavailable' ? result.retryAfterMs : null) ?? delays.next();
    await sleep(Math.min(waitMs, MAX_RETRY_MS), stop);
  }
  return { kind: 'stopped' };
};

const uploadUrl = (gateway: URL, { org_id, run_id, attempt }: Assignment, file: OutputFile): URL => {
  const url = new URL(gateway);
  url.pathname = `${gateway.pathname.replace(/\/$/, '')}/executions/${org_id}/${run_id}/${attempt}/outputs`;
  url.search = new URLSearchParams({
    filename: file.filename,
    subfolder: file.subfolder,
    type: 'output',
  }).toString();
  return url;
};

/** Too large or too many files are an error of the workflow; any other refusal is one of the system. */
const refusal = (
  { filename }: OutputFile,
  { status, why }: { readonly status: number; readonly why: string },
): Exclude<Storing, { readonly kind: 'stored' }> => ({
  kind: 'refused',
  reason: reasonOf(status),
  why: `The file ${filename} could not be stored: ${why}`,
});

const reasonOf = (status: number): Extract<Storing, { readonly kind: 'refused' }>['reason'] => {
  if (status === 413) return 'workflow_error';
  return status === STORAGE_FULL ? 'storage_full' : 'internal_error';
};
