import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { StoredFile } from '@runledger/contracts/events/run-event-data';
import { activeTraceparent } from '@runledger/service-kit/tracing/spans';
import { Value } from 'typebox/value';
import type { OutputFile } from '../runner/runner.ts';

export type PutResult =
  | { kind: 'stored'; file: StoredFile }
  /** For the gateway the attempt is not the current one: it has read more, or less, than this executor. */
  | { kind: 'not_current'; why: string }
  /** The gateway will never accept the file as it is. */
  | { kind: 'refused'; status: number; why: string }
  /** The gateway or its store is unavailable. */
  | { kind: 'unavailable'; why: string; retryAfterMs: number | null };

export interface PutTarget {
  url: URL;
  token: string;
  contentType: string;
}

/** A gateway that accepts no data for this time counts as unavailable. */
const GATEWAY_IDLE_MS = 60_000;
/** A store of the gateway has no room, and nobody knows when it has: the attempt ends. */
export const STORAGE_FULL = 507;
const MAX_RESPONSE_BYTES = 64 * 1024;

/** Sends one file, once. An abort gives `unavailable`. */
export const putFile = async (
  file: OutputFile,
  { url, token, contentType }: PutTarget,
  signal: AbortSignal,
): Promise<PutResult> => {
  // Since the files were collected, the name may have become a link to another file.
  await using source = await open(file.path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const traceparent = activeTraceparent();
  const outgoing = send(url, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': contentType,
      'content-length': file.bytes,
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    signal,
    timeout: GATEWAY_IDLE_MS,
  });
  outgoing.on('timeout', () =>
    outgoing.destroy(new Error(`the gateway sent nothing for ${GATEWAY_IDLE_MS / 1000} s`)),
  );
  // The first error is reported below; later ones must not become unhandled.
  outgoing.on('error', () => undefined);
  const incoming = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  const body = file.bytes === 0 ? [] : source.createReadStream({ end: file.bytes - 1, autoClose: false });
  // A response may come before the whole file is sent. It says more than the broken pipe that follows.
  const sent = pipeline(body, outgoing).catch(() => undefined);
  try {
    return await parseResponse(await incoming);
  } catch (error) {
    return unavailable(error);
  } finally {
    outgoing.destroy();
    await sent;
  }
};

const parseResponse = async (incoming: IncomingMessage): Promise<PutResult> => {
  const text = await readText(incoming);
  const status = incoming.statusCode ?? 0;
  if (status === 201 || status === 200) {
    const value = parseJson(text);
    if (Value.Check(StoredFile, value)) return { kind: 'stored', file: value };
    return { kind: 'refused', status, why: 'the response of the gateway is not a stored file' };
  }
  const why = `the gateway responded with ${status}: ${detailOf(text)}`;
  if (status === 401 || status === 409) return { kind: 'not_current', why };
  const isUnavailable = status >= 500 && status !== STORAGE_FULL;
  if (status === 408 || status === 425 || status === 429 || isUnavailable)
    return { kind: 'unavailable', why, retryAfterMs: retryAfterMs(incoming.headers['retry-after']) };
  return { kind: 'refused', status, why };
};

const readText = async (incoming: IncomingMessage): Promise<string> => {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const chunk of incoming) {
    text += String(chunk);
    if (text.length > MAX_RESPONSE_BYTES) break;
  }
  return text;
};

const detailOf = (text: string): string => {
  const value = parseJson(text);
  const detail = isJsonObject(value) && 'detail' in value ? value['detail'] : text;
  return (typeof detail === 'string' ? detail : JSON.stringify(detail)).slice(0, 500);
};

const retryAfterMs = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null;

const unavailable = (error: unknown): PutResult => ({
  kind: 'unavailable',
  why: error instanceof Error ? error.message : String(error),
  retryAfterMs: null,
});
