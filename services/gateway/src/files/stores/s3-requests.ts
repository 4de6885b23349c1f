import { createHash } from 'node:crypto';
import { retry } from '@runledger/resilience/retry';
import { AwsV4Signer } from 'aws4fetch';
import { ConfigError } from '@runledger/service-kit/config';
import { secret } from '@runledger/service-kit/config-schemas';
import { Type, type Static } from 'typebox';
import { bytesOf } from '../../door/json-body.ts';
import { isOutputKey } from '../output-store.ts';

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * What stands in each element of this name, in order. Responses of S3 have elements of one name on one level only, without attributes
 * but those of the root, and no comments or CDATA (https://docs.aws.amazon.com/AmazonS3/latest/API/).
 */
export const elementsOf = (xml: string, name: string): string[] => {
  const found: string[] = [];
  const [start, end] = [`<${name}>`, `</${name}>`];
  for (let from = xml.indexOf(start); from !== -1; from = xml.indexOf(start, from)) {
    const to = xml.indexOf(end, from);
    if (to === -1) break;
    found.push(xml.slice(from + start.length, to));
    from = to + end.length;
  }
  return found;
};

/** The text of the first element of this name; undefined without one. */
export const textOf = (xml: string, name: string): string | undefined => {
  const [first] = elementsOf(xml, name);
  return first?.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w{2,4}));/g,
    (entity, decimal, hex, word) => {
      const code = decimal ? Number(decimal) : Number.parseInt(String(hex), 16);
      return ENTITIES[String(word)] ?? (code <= 0x10_ff_ff ? String.fromCodePoint(code) : entity);
    },
  );
};

/** For the text of an element. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** The name of the object; of the bucket itself when it is left out. Only `A-Z a-z 0-9 _ . - /`. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** For one try, to the last byte of the response; of a read to the first. */
  readonly withinMs?: number;
  /** Bytes of the answer: some MiB when it is left out. */
  readonly most?: number;
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
  readonly bytes: Buffer;
  readonly text: string;
}

export interface S3Requests {
  readonly bucket: string;
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
    bucket: bucket.name,
    ask: (request) =>
      again(request, () =>
        inTime(request, async (signal) => {
          const response = await send(bucket, request, { signal, keys });
          const bytes = await bytesIn(response, request.most);
          const text = bytes.toString();
          if (!response.ok) throw new S3Failure(response.status, text);
          return { headers: response.headers, bytes, text };
        }),
      ),
    read: (request) =>
      again(request, () =>
        inTime(request, async (signal) => {
          const response = await send(bucket, request, { signal, keys });
          const { headers, body } = response;
          if (!response.ok || !body)
            throw new S3Failure(response.status, (await bytesIn(response)).toString());
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

const bytesIn = async ({ body }: Response, most = MAX_ANSWER_BYTES): Promise<Buffer> => {
  const bytes = body ? await bytesOf(body, most) : Buffer.alloc(0);
  if (bytes === undefined) throw new S3Unreachable('its answer is too long');
  return bytes;
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

const WITH_S3 = 'with RUNLEDGER_OUTPUTS=s3 or RUNLEDGER_ARCHIVE=s3';

/** Of the names of objects. */
export const S3_PREFIX = '^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}/){0,8}$';

export const s3Config = {
  RUNLEDGER_OUTPUTS_S3_ENDPOINT: Type.Optional(
    Type.String({
      pattern: '^https?://[^/?#@\\s]+/?$',
      description: `${WITH_S3}: where the S3-compatible store is reached, such as https://s3.eu-central-1.amazonaws.com; no callback may reach it`,
    }),
  ),
  RUNLEDGER_OUTPUTS_S3_REGION: Type.String({
    pattern: '^[a-z0-9-]{1,64}$',
    default: 'us-east-1',
    description: `${WITH_S3}: the region of the bucket; what the store says where it has none`,
  }),
  RUNLEDGER_OUTPUTS_S3_BUCKET: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
      description: `${WITH_S3}: the bucket, which has to exist`,
    }),
  ),
  RUNLEDGER_OUTPUTS_S3_PREFIX: Type.String({
    pattern: S3_PREFIX,
    default: 'outputs/',
    emptyIsValue: true,
    description: `with RUNLEDGER_OUTPUTS=s3: what the names of all objects begin with, such as runledger/outputs/; everything below it belongs to the gateways`,
  }),
  RUNLEDGER_OUTPUTS_S3_ACCESS_KEY: Type.Optional(
    secret({ description: `${WITH_S3}: the id of the access key` }),
  ),
  RUNLEDGER_OUTPUTS_S3_SECRET_KEY: Type.Optional(
    secret({ description: `${WITH_S3}: the secret of the access key` }),
  ),
  RUNLEDGER_OUTPUTS_S3_PATH_STYLE: Type.Boolean({
    default: true,
    description: `${WITH_S3}: whether the bucket stands in the path; otherwise it is the first part of the host's name`,
  }),
};

export type S3Config = Static<Type.TObject<typeof s3Config>>;

/** A bucket, and who asks it. */
export interface S3Bucket {
  /** Of the bucket, without a slash at the end. */
  readonly url: string;
  readonly name: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** `user`: the setting by which the bucket is needed. @throws {ConfigError} that names each setting which is missing */
export const s3BucketOf = (config: S3Config, user: 'RUNLEDGER_OUTPUTS' | 'RUNLEDGER_ARCHIVE'): S3Bucket => {
  const endpoint = config.RUNLEDGER_OUTPUTS_S3_ENDPOINT;
  const name = config.RUNLEDGER_OUTPUTS_S3_BUCKET;
  const accessKeyId = config.RUNLEDGER_OUTPUTS_S3_ACCESS_KEY;
  const secretAccessKey = config.RUNLEDGER_OUTPUTS_S3_SECRET_KEY;
  if (endpoint && name && accessKeyId && secretAccessKey) {
    const url = bucketUrl(endpoint, name, config.RUNLEDGER_OUTPUTS_S3_PATH_STYLE);
    return { url, name, region: config.RUNLEDGER_OUTPUTS_S3_REGION, accessKeyId, secretAccessKey };
  }
  const missing = [
    [endpoint, 'RUNLEDGER_OUTPUTS_S3_ENDPOINT', 'the URL of the store'],
    [name, 'RUNLEDGER_OUTPUTS_S3_BUCKET', 'the name of an existing bucket'],
    [accessKeyId, 'RUNLEDGER_OUTPUTS_S3_ACCESS_KEY', 'the id of an access key'],
    [
      secretAccessKey,
      'RUNLEDGER_OUTPUTS_S3_SECRET_KEY',
      'the secret of that access key, or name a file with it in RUNLEDGER_OUTPUTS_S3_SECRET_KEY_FILE',
    ],
  ] as const;
  throw new ConfigError(
    missing.flatMap(([value, variable, right]) =>
      value ? [] : [{ variable, wrong: `is not set, and ${user} is "s3"`, right }],
    ),
  );
};

/** `pathStyle`: the bucket is the first part of the path, and not of the host's name. */
export const bucketUrl = (endpoint: string, bucket: string, pathStyle: boolean): string => {
  const { origin, protocol, host } = new URL(endpoint);
  return pathStyle ? `${origin}/${bucket}` : `${protocol}//${bucket}.${host}`;
};

/**
 * `<prefix><key>/content` has a file, `<prefix><key>/description` what is known of it. The description is stored last and removed first:
 * with it the file exists. In a list the content of a file comes just before its description.
 */
export const contentOf = (prefix: string, key: string): string => `${prefix}${key}/content`;
export const descriptionOf = (prefix: string, key: string): string => `${prefix}${key}/description`;

/** Undefined for a name that is none of these. */
export const parsedName = (
  prefix: string,
  name: string,
): { readonly key: string; readonly part: 'content' | 'description' } | undefined => {
  if (!name.startsWith(prefix)) return undefined;
  const [key = '', part, ...rest] = name.slice(prefix.length).split('/');
  if (!isOutputKey(key) || rest.length > 0 || (part !== 'content' && part !== 'description'))
    return undefined;
  return { key, part };
};
