import { Refused, type Refusal } from '../http/refusal.ts';

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
