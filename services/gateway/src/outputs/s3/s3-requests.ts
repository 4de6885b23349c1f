import { createHash } from 'node:crypto';
import { retry } from '@runledger/resilience/retry';
import { AwsV4Signer } from 'aws4fetch';
import { textOf } from './core/xml-values.ts';
import type { S3Bucket } from './s3-settings.ts';

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The name of the object; of the bucket itself when it is left out. Only `A-Z a-z 0-9 _ . - /`. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** For one try, to the last byte of the response; of a read to the first. */
  readonly withinMs?: number;
}

/** The store answered with an error. `code` is S3's, such as `NoSuchKey`; empty when it says none. */
export class S3Failure extends Error {
  override readonly name = 'S3Failure';
  readonly status: number;
  readonly code: string;

  constructor(status: number, body: string) {
    const code = textOf(body, 'Code') ?? '';
    const message = textOf(body, 'Message') ?? '';
    super(`it answered ${[status, code].join(' ').trim()}${message === '' ? '' : `: ${message}`}`);
    this.status = status;
    this.code = code;
  }
}

/** The store did not answer in time, or the connection failed. */
export class S3Unreachable extends Error {
  override readonly name = 'S3Unreachable';
}

interface S3Answer {
  readonly headers: Headers;
  readonly text: string;
}

export interface S3Requests {
  /** A request that may be repeated, and its whole answer. @throws {S3Failure} @throws {S3Unreachable} */
  readonly ask: (request: S3Request) => Promise<S3Answer>;
  /** The begin of a read. Whoever gets it reads or cancels the body. @throws {S3Failure} @throws {S3Unreachable} */
  readonly read: (
    request: S3Request,
  ) => Promise<{ readonly headers: Headers; readonly body: ReadableStream<Uint8Array> }>;
}

const ANSWER_WITHIN_MS = 5_000;
/** Beside one try that takes its time. What is still unavailable then is tried again by whoever asked. */
const TRY_FOR_MS = 5_000;
const DELAYS = { firstMs: 100, longestMs: 2_000 };
/** A list of a thousand names has some hundred KiB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const TRANSIENT = new Set([429, 500, 502, 503, 504]);

/** Signed requests to a bucket (AWS Signature Version 4), each repeated for a while when the store is unavailable. */
export const s3Requests = (bucket: S3Bucket): S3Requests => {
  const again = <Value>(
    { withinMs = ANSWER_WITHIN_MS }: S3Request,
    work: () => Promise<Value>,
  ): Promise<Value> =>
    retry({ ...DELAYS, isUnavailable: isTransient, withinMs: TRY_FOR_MS + withinMs }, work);
  const keys = new Map<string, ArrayBuffer>();
  return {
    ask: (request) =>
      again(request, () =>
        inTime(request, async (signal) => {
          const response = await send(bucket, request, { signal, keys });
          const text = await textIn(response);
          if (!response.ok) throw new S3Failure(response.status, text);
          return { headers: response.headers, text };
        }),
      ),
    read: (request) =>
      again(request, () =>
        inTime(request, async (signal) => {
          const response = await send(bucket, request, { signal, keys });
          const { headers, body } = response;
          if (!response.ok || !body) throw new S3Failure(response.status, await textIn(response));
          return { headers, body };
        }),
      ),
  };
};

interface SendOptions {
  readonly signal: AbortSignal;
  /** Derived from the secret and the day; the signer keeps them here. */
  readonly keys: Map<string, ArrayBuffer>;
}

const send = async (
  { url, region, accessKeyId, secretAccessKey }: S3Bucket,
  { method, name, query = {}, headers = {}, body }: S3Request,
  { signal, keys }: SendOptions,
): Promise<Response> => {
  const at = new URL(name === undefined ? `${url}/` : `${url}/${name}`);
  for (const [key, value] of Object.entries(query)) at.searchParams.set(key, value);
  const signer = new AwsV4Signer({
    method,
    url: at.href,
    headers: { ...headers, 'x-amz-content-sha256': sha256(body ?? '') },
    region,
    service: 's3',
    accessKeyId,
    secretAccessKey,
    cache: keys,
  });
  const signed = await signer.sign();
  // An answer that something in between compressed would have another length. Not signed: with a range, fetch adds it again.
  signed.headers.set('accept-encoding', 'identity');
  return fetch(signed.url, {
    method,
    headers: signed.headers,
    signal,
    // A redirect means another region, and the signature is for this host.
    redirect: 'manual',
    ...(body && { body }),
  });
};

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

const textIn = async ({ body }: Response): Promise<string> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > MAX_ANSWER_BYTES) throw new S3Unreachable('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
};

/** Ends the work with its signal when it takes too long. A body that it began to read is no longer bound by that time. */
const inTime = async <Value>(
  { withinMs = ANSWER_WITHIN_MS }: S3Request,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> => {
  const abort = new AbortController();
  const timer = setTimeout(
    () => abort.abort(new S3Unreachable(`it did not answer within ${withinMs / 1_000} s`)),
    withinMs,
  );
  try {
    return await work(abort.signal);
  } catch (error) {
    if (error instanceof S3Failure || error instanceof S3Unreachable) throw error;
    throw new S3Unreachable(whyUnreachable(error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
};

/** `fetch failed` says nothing; its cause does. */
const whyUnreachable = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
};

const isTransient = (error: unknown): boolean =>
  error instanceof S3Unreachable || (error instanceof S3Failure && TRANSIENT.has(error.status));
