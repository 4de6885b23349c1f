import { Runledger } from '@runledger/client';
import { API } from './client.ts';
import { fetchWithSession } from './session-token.ts';

/** The client gives an address without a base path one, and a gateway may have none. */
const CLIENTS_URL = `${window.location.origin}/api`;

const withSession = {
  url: CLIENTS_URL,
  apiKey: null,
  fetch: async (address: string | URL | Request, init?: RequestInit) =>
    fetchWithSession(`${API}${new Request(address).url.slice(CLIENTS_URL.length)}`, init),
};

/** The client for programs, in the name of who is signed in: for what is more than a request, such as uploads in pieces. */
export const runledger: Runledger = new Runledger(withSession);

/** Its streams go on as long as the page wants them, however long the service is away. An `EventSource` could not send the session. */
export const streams: Runledger = new Runledger({ ...withSession, retries: Number.MAX_SAFE_INTEGER });
