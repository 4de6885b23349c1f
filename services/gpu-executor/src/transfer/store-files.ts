import { storingStatus } from '@runledger/contracts/http/runs/live-status';
import { errorOf, type AttemptErrorKind } from '@runledger/contracts/events/run-error';
import { StoredFile, type RunOutput } from '@runledger/contracts/events/run-event-data';
import { contentTypeOf } from '@runledger/contracts/file-name';
import type { FileHandle } from 'node:fs/promises';
import { parseJson } from '@runledger/contracts/json';
import { Value } from 'typebox/value';
import type { BlobRef } from '@runledger/contracts/blobs';
import type { Assignment } from '../attempt/assignment.decide.ts';
import type { Storing } from '../attempt/end-of-attempt.decide.ts';
import {
  openAttemptGateway,
  type AttemptGateway,
  type GatewaySettings,
  requestSpan,
  untilAnswered,
  requestGateway,
  storeDocument,
  type GatewayRefusal,
  STORAGE_FULL,
} from './attempt-gateway.ts';
import type { OutputFile } from '../runners/runner.ts';
import { openUnchanged } from '../runners/output-files.ts';

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

interface FileProgress {
  readonly stop: AbortSignal;
  /** Takes how much of the file was sent. */
  readonly tell: (sentBytes: number, isWaiting: boolean) => void;
}

const storeFile = async (
  { log }: GatewaySettings,
  { assignment, attributes, url, token }: AttemptGateway,
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
    requestSpan({ attributes, method: 'PUT', what: 'output', bytes }, send),
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

export type PutResult =
  | { readonly kind: 'stored'; readonly file: StoredFile }
  /** Since the files were collected, it was changed or removed, as by a program that is still alive. */
  | { readonly kind: 'changed' }
  | GatewayRefusal;

export interface PutTarget {
  readonly url: URL;
  readonly token: string;
  readonly contentType: string;
  /** Called with how many more bytes of the file were sent. */
  readonly onSent: (bytes: number) => void;
}

const MAX_FILE_RESPONSE_BYTES = 64 * 1024;

async function* readCounted(
  source: FileHandle,
  bytes: number,
  onSent: PutTarget['onSent'],
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source.createReadStream({ end: bytes - 1, autoClose: false })) {
    const read = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    yield read;
    onSent(read.byteLength);
  }
}

/** Sends one file, once. An abort gives `unavailable`. */
export const putFile = async (
  file: OutputFile,
  { url, token, contentType, onSent }: PutTarget,
  signal: AbortSignal,
): Promise<PutResult> => {
  await using source = await openUnchanged(file);
  if (!source) return { kind: 'changed' };
  const content = file.bytes === 0 ? new Uint8Array() : readCounted(source, file.bytes, onSent);
  const body = { type: contentType, bytes: file.bytes, content };
  const response = await requestGateway(
    { method: 'PUT', url, token, body, maxResponseBytes: MAX_FILE_RESPONSE_BYTES },
    signal,
  );
  if (response.kind !== 'ok') return response;
  const stored = parseJson(response.body.toString('utf8'));
  if (Value.Check(StoredFile, stored)) return { kind: 'stored', file: stored };
  const detail = 'the response of the gateway is not a stored file';
  return { kind: 'refused', status: response.status, why: detail, detail, code: null };
};

export type StoredList =
  | { readonly kind: 'stored'; readonly blob: BlobRef }
  | Exclude<Storing, { readonly kind: 'stored' }>;

/** Stores a list of outputs that is too large for an event. Waits while the gateway is unavailable. */
export const storeList = async (
  settings: GatewaySettings,
  assignment: Assignment,
  outputs: readonly RunOutput[],
  stop: AbortSignal,
): Promise<StoredList> => {
  const { run_id, attempt } = assignment;
  const content = Buffer.from(JSON.stringify(outputs));
  const onRetry = (why: string): void =>
    settings.log.warn({ run_id, attempt, why }, 'storing the list of outputs again');
  const document = { name: 'output-list', type: 'application/json', content } as const;
  const answer = await storeDocument(settings, assignment, document, { stop, onRetry });
  if (answer.kind === 'stored' || answer.kind === 'stopped') return answer;
  const kind = answer.kind === 'refused' ? refusalKind(answer.status) : 'internal_error';
  return { kind: 'refused', error: errorOf(kind, `The list of outputs could not be stored: ${answer.why}`) };
};

/** Too large or too many outputs are an error of the workflow; any other refusal is one of the system. */
const refusalKind = (status: number): AttemptErrorKind => {
  if (status === 413) return 'output_too_large';
  return status === STORAGE_FULL ? 'storage_full' : 'internal_error';
};
