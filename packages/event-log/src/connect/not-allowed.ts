import { PermissionViolationError } from '@nats-io/transport-node';

/** The broker does not allow this client to do that. It is available, and a retry does not help. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
  readonly code = 'not_allowed';
}

const WHAT_TO_DO =
  'Permissions are generated from the contract of each service: generate the configuration of the broker again with ' +
  '"runledger broker-config", reload the broker, and check that this service has the key of its own name.';

/** Explains which request the broker refused, and to which client; undefined for another error. */
export const explainPermissionError = (error: unknown, who = 'this service'): NotAllowed | undefined => {
  const violation = violationIn(error);
  if (!violation) return undefined;
  const verb = violation.operation === 'publish' ? 'publish to' : 'subscribe to';
  const what = violation.subject === '' ? violation.message : `${verb} ${violation.subject}`;
  return new NotAllowed(`The broker does not allow ${who} to ${what}. ${WHAT_TO_DO}`, { cause: error });
};

/**
 * Whether a response came too late: its request came over a connection that was lost before, and the right to the response with it. Who asked
 * got none, and asks again. nats-server gives responses to other accounts this prefix.
 */
export const isLateResponse = (error: unknown): boolean => {
  const violation = violationIn(error);
  return violation?.operation === 'publish' && violation.subject.startsWith('_R_.');
};

/** The driver wraps the error of a refused request. */
const violationIn = (error: unknown): PermissionViolationError | undefined => {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof PermissionViolationError) return at;
  }
  return undefined;
};
