import { storingStatus } from '@runledger/contracts/run-view/live-status';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { StoredFile } from '@runledger/contracts/events/run-event-data';
import type { Assignment } from '../attempt/core/assignment.ts';
import type { Storing } from '../attempt/core/end-of-attempt.ts';
import { openAttemptGateway, type AttemptGateway, type GatewaySettings } from '../gateway/attempt-gateway.ts';
import { requestSpan } from '../gateway/request-span.ts';
import { untilAnswered } from '../gateway/until-answered.ts';
import type { OutputFile } from '../runner/runner.ts';
import { contentTypeOf } from '@runledger/contracts/content-type';
import { putFile, type PutResult } from './put-file.ts';
import { refusalKind } from './refusal-kind.ts';

export interface StoredFiles {
  readonly storing: Storing;
  /** In the order of what was to be stored; null for what was not. */
  readonly files: readonly (StoredFile | null)[];
}

export interface StoringAttempt {
  readonly stop: AbortSignal;
  /** Takes the live status, whenever it changes. */
  readonly report: (liveStatus: string) => void;
}

/**
 * Stores the files of an attempt through the gateway, one after the other: the largest one first, so that a limit of the gateway for a file, which
 * the executor does not know, is said before anything is stored. While the gateway is unavailable it waits; files that
 * the gateway has stored count, also when the run is cancelled meanwhile.
 */
export const storeFiles = async (
  settings: GatewaySettings,
  assignment: Assignment,
  files: readonly OutputFile[],
  { stop, report }: StoringAttempt,
): Promise<StoredFiles> => {
  const gateway = openAttemptGateway(settings, assignment);
  const stored = new Map<OutputFile, StoredFile>();
  const storedInOrder = (): StoredFiles['files'] => files.map((file) => stored.get(file) ?? null);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  let storedBytes = 0;
  for (const file of files.toSorted((a, b) => b.bytes - a.bytes)) {
    const tell = (sent: number, isWaiting: boolean): void =>
      report(
        storingStatus({
          stored: stored.size,
          files: files.length,
          sentBytes: storedBytes + sent,
          bytes,
          isWaiting,
        }),
      );
    const result = await storeFile(settings, gateway, file, { stop, tell });
    storedBytes += file.bytes;
    if (result.kind !== 'file') return { storing: result, files: storedInOrder() };
    stored.set(file, result.file);
  }
  return { storing: { kind: 'stored' }, files: storedInOrder() };
};

type StoredOrNot =
  | { readonly kind: 'file'; readonly file: StoredFile }
  | Exclude<Storing, { readonly kind: 'stored' }>;

interface FileProgress extends Pick<StoringAttempt, 'stop'> {
  /** Takes how much of the file was sent. */
  readonly tell: (sentBytes: number, isWaiting: boolean) => void;
}

const storeFile = async (
  { log }: GatewaySettings,
  { assignment, url, token }: AttemptGateway,
  file: OutputFile,
  { stop, tell }: FileProgress,
): Promise<StoredOrNot> => {
  const { run_id, attempt } = assignment;
  const { filename, subfolder, bytes } = file;
  const target = {
    url: url('outputs', { filename, subfolder, type: 'output' }),
    token: await token(),
    contentType: contentTypeOf(filename),
  };
  const onRetry = (why: string): void => {
    tell(0, true);
    log.warn({ run_id, attempt, file: filename, why }, 'storing a file again');
  };
  const send = async (): Promise<PutResult> => {
    let sent = 0;
    const onSent = (more: number): void => tell((sent += more), false);
    return putFile(file, { ...target, onSent }, stop);
  };
  tell(0, false);
  const answer = await untilAnswered({ stop, onRetry }, () =>
    requestSpan({ assignment, method: 'PUT', what: 'output', bytes }, send),
  );
  switch (answer.kind) {
    case 'stored':
      return { kind: 'file', file: answer.file };
    case 'stopped':
      return answer;
    case 'changed':
      return { kind: 'refused', error: errorOf('invalid_output', changed(file)) };
    case 'not_current':
      return { kind: 'refused', error: errorOf('internal_error', answer.why) };
    case 'refused':
      return refusal(file, answer);
  }
};

const changed = ({ filename }: OutputFile): string =>
  `The file ${filename} was changed or removed while it was stored. Change no outputs once the run is done.`;

const refusal = (
  { filename }: OutputFile,
  { status, why }: { readonly status: number; readonly why: string },
): Exclude<Storing, { readonly kind: 'stored' }> => ({
  kind: 'refused',
  error: errorOf(refusalKind(status), `The file ${filename} could not be stored: ${why}`),
});
