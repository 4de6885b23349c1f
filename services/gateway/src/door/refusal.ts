import { statusOf, type RefusalCode } from '@runledger/contracts/http/refusal-codes';

/** One thing that is wrong with a request, in the form of the run API, section 2.4. `type` is named as pydantic 2 names it. */
export interface Invalid {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export const invalid = (loc: Invalid['loc'], type: string, msg: string): Invalid => ({ loc, msg, type });

/** What is wrong with a value beyond its schema. `why` may begin with a small letter. */
export const wrongValue = (loc: Invalid['loc'], why: string): Invalid =>
  invalid(loc, 'value_error', sentence(why));

export const sentence = (why: string): string => `${why.slice(0, 1).toUpperCase()}${why.slice(1)}`;

/**
 * Every refusal that a client can get. A new one is a code in `packages/contracts/src/http/refusal-codes.ts`: its status, its page and its part of
 * the OpenAPI document follow from there.
 */
export type Refusal =
  | {
      readonly code: Exclude<RefusalCode, 'invalid_request'>;
      /** What happened, and what to do. */
      readonly why: string;
      /** Beside those of its status. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly code: 'invalid_request'; readonly problems: readonly Invalid[] };

/** Why a request that fits its schemas cannot be carried out as it is, as a value of what decides. */
export interface InvalidRequest {
  readonly kind: 'invalid';
  readonly problems: readonly Invalid[];
}

/** Why the present state forbids a request, as a value of what decides. */
export type Conflict = Extract<Refusal, { readonly why: string }>;

/** Carries a refusal from where it is decided to where it is answered. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

/** The refusal with everything that is wrong with the request. */
export const invalidRequest = (...problems: readonly Invalid[]): Refused =>
  new Refused({ code: 'invalid_request', problems });

export type RecordKind = 'Machine' | 'Workflow' | 'Workflow version' | 'Deployment' | 'Schedule' | 'Secret';

const NOT_FOUND = {
  Run: 'run_not_found',
  'Run at that time': 'no_run_at_that_time',
  Tombstone: 'tombstone_not_found',
  Output: 'output_not_found',
  File: 'file_not_found',
  Upload: 'upload_not_found',
  Model: 'model_not_found',
  'API key': 'api_key_not_found',
  Executor: 'executor_not_found',
  'Dead letter': 'dead_letter_not_found',
  Organisation: 'organisation_not_found',
  Machine: 'machine_not_found',
  Workflow: 'workflow_not_found',
  'Workflow version': 'workflow_version_not_found',
  Deployment: 'deployment_not_found',
  Schedule: 'schedule_not_found',
  Secret: 'secret_not_found',
  Member: 'member_not_found',
  Invitation: 'invitation_not_found',
} as const satisfies Readonly<Record<RecordKind, RefusalCode>> & Readonly<Record<string, RefusalCode>>;

/** The refusal for what the caller's organisation does not have. */
export const notFound = (what: keyof typeof NOT_FOUND): Refused =>
  new Refused({ code: NOT_FOUND[what], why: `${what} not found` });

/** What there is. @throws {Refused} when the caller's organisation does not have it */
export const found = <Found>(one: Found | undefined, what: keyof typeof NOT_FOUND): Found => {
  if (one === undefined) throw notFound(what);
  return one;
};

const MAX_SHOWN = 120;

/** The refusal of a path that the service does not have. `next` says where to look. */
export const noSuchPath = (
  { method, url }: { readonly method: string; readonly url: string },
  next?: string,
): Refused =>
  new Refused({
    code: 'path_unknown',
    why: `There is no ${method} ${shown(url)}.${next === undefined ? '' : ` ${next}`}`,
  });

/** Without the query, which may hold a secret. */
const shown = (url: string): string => {
  const path = url.replace(/[?#].*$/s, '');
  return path.length <= MAX_SHOWN ? path : `${path.slice(0, MAX_SHOWN).toWellFormed()}…`;
};

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

/** The body of a refusal. */
interface RefusalBody {
  readonly detail: string | readonly Invalid[];
  readonly code: Refusal['code'];
  readonly request_id: string;
}

export interface RefusalResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RefusalBody;
}

/** Headers that every refusal with a status has, unless it has them with another value. */
const HEADERS_OF_STATUS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'WWW-Authenticate': 'Bearer' },
  408: { Connection: 'close' },
  // Use ends when runs start or clients leave. Retrying earlier does not help.
  429: { 'Retry-After': '5' },
  431: { Connection: 'close' },
  503: { 'Retry-After': '2' },
};

export const responseTo = (refusal: Refusal, request_id: string): RefusalResponse => {
  const { code } = refusal;
  const status = statusOf(code);
  const own = 'headers' in refusal ? refusal.headers : undefined;
  const detail = refusal.code === 'invalid_request' ? refusal.problems : refusal.why;
  return { status, headers: { ...HEADERS_OF_STATUS[status], ...own }, body: { detail, code, request_id } };
};

/** A class of errors that a feature throws, and the refusal that a client gets for it. */
export type KnownFailure = readonly [
  failure: abstract new (...parameters: never[]) => Error,
  refusal: Refusal,
];

const INTERNAL: Refusal = {
  code: 'internal_error',
  why: 'An error of the service. Its log has the details under the X-Request-Id',
};

/** The refusal for anything that was thrown. An unknown error is an internal one. */
export const refusalOf = (error: unknown, failures: readonly KnownFailure[]): Refusal => {
  if (error instanceof Refused) return error.refusal;
  const known = failures.find(([failure]) => error instanceof failure);
  return known?.[1] ?? INTERNAL;
};
