import { PermissionViolationError } from '@nats-io/transport-node';

/** The broker does not let this client do that. It is not away, and trying again does not help. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
  readonly code = 'not_allowed';
}

const WHAT_TO_DO =
  'What a service may do is made from its contract: make the configuration of the broker anew with ' +
  '"runledger broker-config", have the broker read it, and see that this service has the key of its own name.';

/** In our words what the broker refused, and to whom; undefined when it is another error. */
export const explainPermissionError = (error: unknown, who = 'this service'): NotAllowed | undefined => {
  const violation = violationIn(error);
  if (!violation) return undefined;
  const verb = violation.operation === 'publish' ? 'publish to' : 'subscribe to';
  const what = violation.subject === '' ? violation.message : `${verb} ${violation.subject}`;
  return new NotAllowed(`The broker does not allow ${who} to ${what}. ${WHAT_TO_DO}`, { cause: error });
};

/** The driver wraps it where it refuses a request. */
const violationIn = (error: unknown): PermissionViolationError | undefined => {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof PermissionViolationError) return at;
  }
  return undefined;
};
