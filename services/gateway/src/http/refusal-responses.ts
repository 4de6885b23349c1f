import { HTTPValidationError } from '@runledger/contracts/http/problem';
import type { TSchema } from 'typebox';
import type { Invalid, Refusal } from './refusal.ts';

/** How the OpenAPI document describes a refusal. */
export interface DescribedRefusal {
  /** Which operations can give it: all, those with a body, those whose body is a file, those with any schema for their request, or those that list its status. */
  readonly of: 'all' | 'with_body' | 'with_raw_body' | 'with_schemas' | 'listed';
  readonly description: string;
  /** Of the response body; the usual sentence when left out. */
  readonly body?: TSchema;
  /** Headers beside those of every response. */
  readonly headers?: readonly ('Retry-After' | 'WWW-Authenticate')[];
  /** Refused before the rate limit counts the request, so the response has no rate headers. */
  readonly uncounted?: true;
}

interface Row<One> {
  readonly status: number;
  readonly detail: (refusal: One) => RefusalResponse['detail'];
  readonly headers?: (refusal: One) => Readonly<Record<string, string>>;
  /** Left out for refusals of the server and of plain routes, which no operation gives. */
  readonly described?: DescribedRefusal;
}

type Rows = { readonly [Kind in Refusal['kind']]: Row<Extract<Refusal, { readonly kind: Kind }>> };

const RETRY_AFTER_S = '2';

/** The one table from refusals to HTTP and to the OpenAPI document. */
export const REFUSALS = {
  bad_request: {
    status: 400,
    detail: ({ why }) => why,
    described: { of: 'all', description: 'Malformed HTTP/1.1 request, or a body that ends early.' },
  },
  not_authenticated: {
    status: 401,
    detail: ({ why }) => why,
    headers: () => ({ 'WWW-Authenticate': 'Bearer' }),
    described: {
      of: 'all',
      description: 'The API key, or the token, is missing, invalid, expired or revoked.',
      headers: ['WWW-Authenticate'],
      uncounted: true,
    },
  },
  not_allowed: {
    status: 403,
    detail: ({ why }) => why,
    described: {
      of: 'all',
      description: 'The API key is valid and lacks the scope, or the token of a run does not permit this.',
      uncounted: true,
    },
  },
  no_such_path: { status: 404, detail: () => 'Not Found' },
  not_found: {
    status: 404,
    detail: ({ what }) => `${what} not found`,
    described: { of: 'listed', description: 'The organisation of the API key has no such record.' },
  },
  method_not_allowed: {
    status: 405,
    detail: () => 'Method Not Allowed',
    headers: ({ allow }) => ({ Allow: allow.join(', ') }),
  },
  too_slow: {
    status: 408,
    detail: ({ why }) => why,
    headers: () => ({ Connection: 'close' }),
    described: { of: 'with_body', description: 'The body was not sent in time.' },
  },
  conflict: {
    status: 409,
    detail: ({ why }) => why,
    described: {
      of: 'listed',
      description: 'The present state forbids it, or the key was used with another request.',
    },
  },
  gone: {
    status: 410,
    detail: ({ why }) => why,
    described: { of: 'listed', description: 'A part of the record is lost. The response says what to do.' },
  },
  length_required: {
    status: 411,
    detail: () => 'Send the Content-Length of the file',
    described: { of: 'with_raw_body', description: 'The length of the file is not known.' },
  },
  too_large: {
    status: 413,
    detail: ({ why }) => why,
    described: { of: 'with_body', description: 'The body, or a part of it, is over the limit.' },
  },
  unsupported_type: {
    status: 415,
    detail: ({ why }) => why,
    described: {
      of: 'with_body',
      description: 'The body is of another type than the operation takes, or its encoding is unknown.',
    },
  },
  range_not_satisfiable: {
    status: 416,
    detail: ({ bytes }) => `The file has ${bytes} bytes`,
    headers: ({ bytes }) => ({ 'Content-Range': `bytes */${bytes}` }),
  },
  expectation_failed: { status: 417, detail: () => 'The only supported value of Expect is "100-continue"' },
  invalid: {
    status: 422,
    detail: ({ problems }) => problems,
    described: {
      of: 'with_schemas',
      description: 'The request does not fit its description. The response lists everything that is wrong.',
      body: HTTPValidationError,
    },
  },
  too_many: {
    status: 429,
    detail: ({ why }) => why,
    headers: ({ retryAfterS }) => ({ 'Retry-After': String(retryAfterS) }),
    described: {
      of: 'all',
      description:
        'Too many requests with this API key, or the organisation has reached a quota: `GET /usage` shows them.',
      headers: ['Retry-After'],
    },
  },
  /** To an executor: what its attempt needs is in the store, and is not what was stored. */
  damaged: { status: 424, detail: ({ why }) => why },
  headers_too_large: {
    status: 431,
    detail: () => 'The headers of the request are too large',
    headers: () => ({ Connection: 'close' }),
    described: { of: 'all', description: 'The headers have more than 16 KiB.', uncounted: true },
  },
  internal: {
    status: 500,
    detail: () => 'An error of the service. Its log has the details under the X-Request-Id',
    described: { of: 'all', description: 'An error of the service. Its log has the details.' },
  },
  unavailable: {
    status: 503,
    detail: ({ why }) => why,
    headers: () => ({ 'Retry-After': RETRY_AFTER_S }),
    described: {
      of: 'all',
      description:
        'The log, the store of runs or the scheduler cannot be reached. Nothing was done, unless the same request with the same idempotency key says so later.',
      headers: ['Retry-After'],
    },
  },
  storage_full: {
    status: 507,
    detail: ({ why }) => why,
    described: {
      of: 'listed',
      description: 'The store of large inputs, of workflows or of files is full. Nothing was done.',
    },
  },
} as const satisfies Rows;

type ListedStatus<One> = One extends { described: { of: 'listed' | 'with_body' }; status: infer Status }
  ? Status
  : never;
/** The statuses of refusals that do not follow from the schemas of a request: an operation lists its own. */
export type OwnRefusal = ListedStatus<(typeof REFUSALS)[Refusal['kind']]>;

export interface RefusalResponse {
  readonly status: number;
  readonly detail: string | readonly Invalid[];
  readonly headers: Readonly<Record<string, string>>;
}

export const responseTo = (refusal: Refusal): RefusalResponse => {
  // The row of its own kind; TypeScript does not see that the two belong together.
  const { status, detail, headers } = REFUSALS[refusal.kind] as Row<Refusal>;
  return { status, detail: detail(refusal), headers: headers?.(refusal) ?? {} };
};
