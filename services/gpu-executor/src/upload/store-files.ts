import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { uploadSpan } from '../attempt/attempt-spans.ts';
import { contentTypeOf } from './content-type.ts';
import type { Assignment } from '../attempt/core/assignment.ts';
import type { Storing } from '../attempt/core/end-of-attempt.ts';
import { putFile } from './put-file.ts';
import type { OutputFile } from '../runner/runner.ts';

export interface StoredFiles {
  storing: Storing;
  files: StoredFile[];
}

export interface StoreSettings {
  readonly gateway: URL;
  readonly signAttempt: (assignment: Assignment) => Promise<string>;
  readonly log: { warn(fields: object, message: string): void };
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;
/** The gateway may know of the assignment a little later than this executor; then it knows better. */
const MAX_NOT_CURRENT = 6;

/**
 * Stores the files of an attempt through the gateway, one after the other. A gateway that is away is waited for;
 * what it has taken counts, also when the run is cancelled meanwhile.
 */
export const storeFiles = async (
  { gateway, signAttempt, log }: StoreSettings,
  assignment: Assignment,
  files: readonly OutputFile[],
  stop: AbortSignal,
): Promise<StoredFiles> => {
  const token = await signAttempt(assignment);
  const { run_id, attempt } = assignment;
  const stored: StoredFile[] = [];
  for (const file of files) {
    const target = {
      url: uploadUrl(gateway, assignment, file),
      token,
      contentType: contentTypeOf(file.filename),
    };
    let disagreements = 0;
    const delays = backoff({ firstMs: FIRST_RETRY_MS, longestMs: MAX_RETRY_MS });
    for (;;) {
      if (stop.aborted) return { storing: { kind: 'stopped' }, files: stored };
      const answer = await uploadSpan(assignment, file.bytes, () => putFile(file, target, stop));
      if (answer.kind === 'stored') {
        stored.push(answer.file);
        break;
      }
      if (answer.kind === 'refused') return { storing: refusal(file, answer), files: stored };
      if (answer.kind === 'not_current') disagreements += 1;
      if (disagreements > MAX_NOT_CURRENT)
        return { storing: { kind: 'refused', reason: 'internal_error', why: answer.why }, files: stored };
      if (!stop.aborted)
        log.warn({ run_id, attempt, file: file.filename, why: answer.why }, 'storing a file again');
      const waitMs = (answer.kind === 'away' ? answer.retryAfterMs : null) ?? delays.next();
      await sleep(Math.min(waitMs, MAX_RETRY_MS), stop);
    }
  }
  return { storing: { kind: 'stored' }, files: stored };
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

/** Too large or too many is the workflow's affair; any other refusal is ours. */
const refusal = ({ filename }: OutputFile, { status, why }: { status: number; why: string }): Storing => ({
  kind: 'refused',
  reason: status === 413 ? 'workflow_error' : 'internal_error',
  why: `The file ${filename} could not be stored: ${why}`,
});
