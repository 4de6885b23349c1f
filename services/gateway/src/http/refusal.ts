/** One thing that is wrong with a request, in the form of the run API, section 2.4; `type` as pydantic 2 names it. */
export interface Invalid {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export type RecordKind = 'Machine' | 'Workflow' | 'Workflow version' | 'Deployment';

/** Every refusal that a client can get. */
export type Refusal =
  | { readonly kind: 'bad_request'; readonly why: string }
  | { readonly kind: 'not_authenticated'; readonly why: string }
  | { readonly kind: 'not_allowed'; readonly scope: string }
  | { readonly kind: 'no_such_path' }
  | { readonly kind: 'not_found'; readonly what: 'Run' | 'Output' | 'API key' | 'Executor' | RecordKind }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'too_slow'; readonly why: string }
  | { readonly kind: 'conflict'; readonly why: string }
  | { readonly kind: 'length_required' }
  | { readonly kind: 'too_large'; readonly why: string }
  | { readonly kind: 'unsupported_type'; readonly why: string }
  | { readonly kind: 'range_not_satisfiable'; readonly bytes: number }
  | { readonly kind: 'expectation_failed' }
  | { readonly kind: 'invalid'; readonly problems: readonly Invalid[] }
  | { readonly kind: 'too_many'; readonly why: string; readonly retryAfterS: number }
  | { readonly kind: 'headers_too_large' }
  | { readonly kind: 'internal'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string };

export interface RefusalResponse {
  readonly status: number;
  readonly detail: string | readonly Invalid[];
  readonly headers: Readonly<Record<string, string>>;
}

const RETRY_AFTER_S = '2';

/** The one table from refusals to HTTP. */
export const responseTo = (problem: Refusal): RefusalResponse => {
  switch (problem.kind) {
    case 'bad_request':
      return answer(400, problem.why);
    case 'not_authenticated':
      return answer(401, problem.why, { 'WWW-Authenticate': 'Bearer' });
    case 'not_allowed':
      return answer(403, `This API key lacks the scope ${problem.scope}`);
    case 'no_such_path':
      return answer(404, 'Not Found');
    case 'not_found':
      return answer(404, `${problem.what} not found`);
    case 'method_not_allowed':
      return answer(405, 'Method Not Allowed', { Allow: problem.allow.join(', ') });
    case 'too_slow':
      return answer(408, problem.why, { Connection: 'close' });
    case 'conflict':
      return answer(409, problem.why);
    case 'length_required':
      return answer(411, 'Send the Content-Length of the file');
    case 'too_large':
      return answer(413, problem.why);
    case 'unsupported_type':
      return answer(415, problem.why);
    case 'range_not_satisfiable':
      return answer(416, `The file has ${problem.bytes} bytes`, {
        'Content-Range': `bytes */${problem.bytes}`,
      });
    case 'expectation_failed':
      return answer(417, 'Of the header Expect only "100-continue" is understood');
    case 'invalid':
      return answer(422, problem.problems);
    case 'too_many':
      return answer(429, problem.why, { 'Retry-After': String(problem.retryAfterS) });
    case 'headers_too_large':
      return answer(431, 'The headers of the request are too large', { Connection: 'close' });
    case 'internal':
      return answer(500, problem.why);
    case 'unavailable':
      return answer(503, problem.why, { 'Retry-After': RETRY_AFTER_S });
  }
};

const answer = (
  status: number,
  detail: RefusalResponse['detail'],
  headers: Readonly<Record<string, string>> = {},
): RefusalResponse => ({ status, detail, headers });

/** Carries a refusal from where it is seen to where it is answered. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(problem: Refusal) {
    super(problem.kind);
    this.refusal = problem;
  }
}

export const invalid = (loc: Invalid['loc'], type: string, msg: string): Invalid => ({ loc, msg, type });
