/** How the OpenAPI document describes the refusals of a status. */
export interface DescribedRefusals {
  /** The name of the component. */
  readonly name: string;
  /** Which operations can give them: all, those with a body, those whose body is a file, or those that list the status. */
  readonly of: 'all' | 'with_body' | 'with_raw_body' | 'listed';
  readonly description: string;
  /** Headers beside those of every response. */
  readonly headers?: readonly ('Retry-After' | 'WWW-Authenticate')[];
  /** Refused before the rate limit counts the request, so the response has no rate headers. */
  readonly uncounted?: true;
}

/** The statuses of refusals of operations. Others are those of the server and of plain routes. */
export const RESPONSES = {
  400: {
    name: 'BadRequest',
    of: 'all',
    description: 'Malformed HTTP/1.1 request, or a body that ends early.',
  },
  401: {
    name: 'NotAuthenticated',
    of: 'all',
    description: 'The API key, the token or the session is missing, incomplete, invalid, expired or revoked.',
    headers: ['WWW-Authenticate'],
    uncounted: true,
  },
  403: {
    name: 'NotAllowed',
    of: 'all',
    description: 'The API key is valid and lacks the scope, or the token of a run does not permit this.',
    uncounted: true,
  },
  404: {
    name: 'NotFound',
    of: 'listed',
    description: 'The organisation of the API key has no such record, or has deleted or archived it.',
  },
  408: { name: 'TooSlow', of: 'with_body', description: 'The body was not sent in time.' },
  409: {
    name: 'Conflict',
    of: 'listed',
    description: 'The present state forbids it, or the key was used with another request.',
  },
  410: {
    name: 'Gone',
    of: 'listed',
    description: 'A part of the record is lost. The response says what to do.',
  },
  411: { name: 'LengthRequired', of: 'with_raw_body', description: 'The length of the file is not known.' },
  413: {
    name: 'TooLarge',
    of: 'with_body',
    description: 'The body, or a part of it, is over the limit.',
  },
  415: {
    name: 'UnsupportedType',
    of: 'with_body',
    description: 'The body is of another type than the operation takes, or its encoding is unknown.',
  },
  422: {
    name: 'Invalid',
    of: 'all',
    description: 'The request does not fit its description. The response lists everything that is wrong.',
  },
  429: {
    name: 'TooMany',
    of: 'all',
    description:
      'Too many requests with this API key, or the organisation has reached a quota: `GET /usage` shows them.',
    headers: ['Retry-After'],
  },
  431: {
    name: 'HeadersTooLarge',
    of: 'all',
    description: 'The headers have more than 16 KiB.',
    uncounted: true,
  },
  500: {
    name: 'Internal',
    of: 'all',
    description: 'An error of the service. Its log has the details.',
  },
  503: {
    name: 'Unavailable',
    of: 'all',
    description:
      'The log, the store of runs or the scheduler cannot be reached. Nothing was done, unless the same request with the same idempotency key says so later.',
    headers: ['Retry-After'],
  },
  507: {
    name: 'StorageFull',
    of: 'listed',
    description: 'The store of large inputs, of workflows or of files is full. Nothing was done.',
  },
} as const satisfies Readonly<Record<number, DescribedRefusals>>;

type ListedStatus<One> = One extends { readonly of: 'listed' | 'with_body' } ? true : false;

/** The statuses that do not follow from the schemas of a request: an operation lists its own. */
export type OwnRefusal = {
  [Status in keyof typeof RESPONSES]: ListedStatus<(typeof RESPONSES)[Status]> extends true ? Status : never;
}[keyof typeof RESPONSES];
