import type { AuditAction } from '@runledger/contracts/audit/audit-actions';
import type { AuditDetails, AuditTarget } from '@runledger/contracts/audit/audit-record';

/** What the audit records of an operation say. */
interface RecordedOperation<Request> {
  readonly action: AuditAction;
  /** The parameter of the path that names what it is done to. Left out: what it creates, by the `id` of the response. */
  readonly target?: string;
  /** Members of the response that the record keeps: ids, scopes, times and numbers. */
  readonly keeps?: readonly string[];
  /** It concerns what no organisation owns. */
  readonly installation?: true;
  /** What the request says, without values that clients choose freely. */
  details?(request: Request): AuditDetails;
}

/** Each operation that changes something has one. */
export type AuditRule<Request> =
  | RecordedOperation<Request>
  /** Its function records the action, when a request is one. */
  | { readonly recordedWithin: AuditAction }
  | { readonly unrecorded: string };

/** Actions are named after what they are done to. */
export const targetOf = (action: AuditAction, id: unknown): AuditTarget => ({
  kind: action.slice(0, action.indexOf('.')),
  id: typeof id === 'string' ? id : null,
});

/** These members of a response, as far as a record can hold them. */
export const keptOf = (response: unknown, keeps: readonly string[]): AuditDetails =>
  Object.fromEntries(
    Object.entries(Object(response)).flatMap(([name, value]): [string, AuditDetails[string]][] =>
      keeps.includes(name) && isDetail(value) ? [[name, value]] : [],
    ),
  );

const isDetail = (value: unknown): value is AuditDetails[string] =>
  value === null ||
  ['string', 'number', 'boolean'].includes(typeof value) ||
  (Array.isArray(value) && value.every((item) => typeof item === 'string'));
