/**
 * The token of a session. A response that begins a session has it beside the cookie, once, and requests with the cookie send it: a browser sends the cookie
 * to every port of the host, and this header only for a page of the origin that keeps the token.
 */
export const SESSION_HEADER = 'Runledger-Session';

/**
 * Of a response: sentences about what is probably a mistake, such as `unknown body member "inptus"; did you mean "inputs"?`. They are about names in the
 * request that the operation does not know and ignored, inputs that the version does not define, and deployments whose runs no executor could take now.
 * At most eight of each. They have no commas, which separate them: names are percent-encoded where they have other characters than letters, digits and a few marks.
 */
export const WARNING_HEADER = 'Runledger-Warning';

/** The `Accept` of a client that reads numbers as they are written. Others get an integer that a double would change as a string. */
export const ACCEPT_EXACT_NUMBERS = 'application/json; numbers=exact';

const EXACT = /;\s*numbers\s*=\s*"?exact"?\s*(?:[;,]|$)/i;

export const wantsExactNumbers = (accept: string): boolean => EXACT.test(accept);

/**
 * Of a response: the members of the request's body that the operation does not know, and ignored. Such as `inputz, retry.attemps`: paths with
 * dots, in which each name is percent-encoded where it has other characters than letters, digits and a few marks. `...` at the end
 * says that there are more.
 */
export const IGNORED_MEMBERS_HEADER = 'Runledger-Ignored-Members';
