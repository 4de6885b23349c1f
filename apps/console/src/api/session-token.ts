import { SESSION_HEADER } from '@runledger/contracts/http/headers';

/** Pages of this origin share it, also after a reload. A program on another port of the host gets the cookie of the session, and never this. */
const NAME = 'runledger-session-token';

/** `fetch` for requests to the service: it sends the token of the session, and keeps that of a session that begins. */
export const fetchWithSession = async (
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> => {
  const request = new Request(input, init);
  const token = localStorage.getItem(NAME);
  if (token !== null) request.headers.set(SESSION_HEADER, token);
  const response = await fetch(request);
  const begun = response.headers.get(SESSION_HEADER);
  if (begun !== null) localStorage.setItem(NAME, begun);
  return response;
};

export const forgetSessionToken = (): void => localStorage.removeItem(NAME);
