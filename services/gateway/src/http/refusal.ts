import type { RefusalCode } from '@runledger/contracts/http/refusals/refusal-codes';

/** One thing that is wrong with a request, in the form of the run API, section 2.4. `type` is named as pydantic 2 names it. */
export interface Invalid {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

export const invalid = (loc: Invalid['loc'], type: string, msg: string): Invalid => ({ loc, msg, type });

/**
 * Every refusal that a client can get. A new one is a code in `packages/contracts/src/http/refusals`: its status, its page and its part of
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

export type RecordKind = 'Machine' | 'Workflow' | 'Workflow version' | 'Deployment' | 'Schedule';

const NOT_FOUND = {
  Run: 'run_not_found',
  'Run at that time': 'no_run_at_that_time',
  Tombstone: 'tombstone_not_found',
  Output: 'output_not_found',
  File: 'file_not_found',
  Upload: 'upload_not_found',
  'API key': 'api_key_not_found',
  Executor: 'executor_not_found',
  'Dead letter': 'dead_letter_not_found',
  Organisation: 'organisation_not_found',
  Machine: 'machine_not_found',
  Workflow: 'workflow_not_found',
  'Workflow version': 'workflow_version_not_found',
  Deployment: 'deployment_not_found',
  Schedule: 'schedule_not_found',
  Member: 'member_not_found',
  Invitation: 'invitation_not_found',
} as const satisfies Readonly<Record<RecordKind, RefusalCode>> & Readonly<Record<string, RefusalCode>>;

/** The refusal for what the caller's organisation does not have. */
export const notFound = (what: keyof typeof NOT_FOUND): Refused =>
  new Refused({ code: NOT_FOUND[what], why: `${what} not found` });
