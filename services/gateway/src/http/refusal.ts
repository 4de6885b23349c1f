/** One thing that is wrong with a request, in the form of the run API, section 2.4. `type` is named as pydantic 2 names it. */
export interface Invalid {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export const invalid = (loc: Invalid['loc'], type: string, msg: string): Invalid => ({ loc, msg, type });

export type RecordKind = 'Machine' | 'Workflow' | 'Workflow version' | 'Deployment' | 'Schedule';

/**
 * Every refusal that a client can get. A new one is a member of this union and a row of `REFUSALS` in `refusal-responses.ts`: its
 * response and its part of the OpenAPI document follow from the row.
 */
export type Refusal =
  | { readonly kind: 'bad_request'; readonly why: string }
  | { readonly kind: 'not_authenticated'; readonly why: string }
  | { readonly kind: 'not_allowed'; readonly why: string }
  | { readonly kind: 'no_such_path' }
  | {
      readonly kind: 'not_found';
      readonly what:
        | 'Run'
        | 'Run at that time'
        | 'Tombstone'
        | 'Output'
        | 'File'
        | 'Upload'
        | 'API key'
        | 'Executor'
        | 'Organisation'
        | RecordKind;
    }
  | { readonly kind: 'method_not_allowed'; readonly allow: readonly string[] }
  | { readonly kind: 'too_slow'; readonly why: string }
  | { readonly kind: 'conflict'; readonly why: string }
  | { readonly kind: 'gone'; readonly why: string }
  | { readonly kind: 'damaged'; readonly why: string }
  | { readonly kind: 'length_required' }
  | { readonly kind: 'too_large'; readonly why: string }
  | { readonly kind: 'unsupported_type'; readonly why: string }
  | { readonly kind: 'range_not_satisfiable'; readonly bytes: number }
  | { readonly kind: 'expectation_failed' }
  | { readonly kind: 'invalid'; readonly problems: readonly Invalid[] }
  | { readonly kind: 'too_many'; readonly why: string; readonly retryAfterS: number }
  | { readonly kind: 'headers_too_large' }
  | { readonly kind: 'internal' }
  | { readonly kind: 'unavailable'; readonly why: string }
  | { readonly kind: 'storage_full'; readonly why: string };

/** Carries a refusal from where it is decided to where it is answered. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.kind);
    this.refusal = refusal;
  }
}
