import type { FileHandle } from 'node:fs/promises';
import { parseJson } from '@runledger/contracts/json';
import { StoredFile } from '@runledger/contracts/events/run-event-data';
import { Value } from 'typebox/value';
import { requestGateway, type GatewayRefusal } from '../gateway/gateway-request.ts';
import { openUnchanged } from '../runner/output-files.ts';
import type { OutputFile } from '../runner/runner.ts';

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
  return { kind: 'refused', status: response.status, why: detail, detail };
};
