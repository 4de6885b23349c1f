/**
 * The token of a session. A response that begins a session has it beside the cookie, once, and requests with the cookie send it: a browser sends the cookie
 * to every port of the host, and this header only for a page of the origin that keeps the token.
 */
export const SESSION_HEADER = 'Runledger-Session';
