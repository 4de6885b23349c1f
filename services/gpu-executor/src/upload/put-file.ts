import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { parseJson } from '@runledger/contracts/json';
import { StoredFile } from '@runledger/contracts/events/run-event-data';
import { Value } from 'typebox/value';
import { requestGateway, type GatewayRefusal } from '../gateway/gateway-request.ts';
import type { OutputFile } from '../runner/runner.ts';

export type PutResult = { readonly kind: 'stored'; readonly file: StoredFile } | GatewayRefusal;

export interface PutTarget {
  readonly url: URL;
  readonly token: string;
  readonly contentType: string;
}

const MAX_RESPONSE_BYTES = 64 * 1024;

/** Sends one file, once. An abort gives `unavailable`. */
export const putFile = async (
  file: OutputFile,
  { url, token, contentType }: PutTarget,
  signal: AbortSignal,
): Promise<PutResult> => {
  // Since the files were collected, the name may have become a link to another file.
  await using source = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const content =
    file.bytes === 0 ? new Uint8Array() : source.createReadStream({ end: file.bytes - 1, autoClose: false });
  const body = { type: contentType, bytes: file.bytes, content };
  const response = await requestGateway(
    { method: 'PUT', url, token, body, maxResponseBytes: MAX_RESPONSE_BYTES },
    signal,
  );
  if (response.kind !== 'ok') return response;
  const stored = parseJson(response.body.toString('utf8'));
  if (Value.Check(StoredFile, stored)) return { kind: 'stored', file: stored };
  const detail = 'the response of the gateway is not a stored file';
  return { kind: 'refused', status: response.status, why: detail, detail };
};
