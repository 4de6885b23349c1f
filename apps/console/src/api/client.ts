import type { paths } from '@runledger/client/api-types';
import createClient from 'openapi-fetch';
import { Refused, type Refusal } from './refused.ts';
import { fetchWithSession } from './session-token.ts';

/** Where the API begins on this host, such as `/api`. The gateway writes it into the page. */
export const API = document.documentElement.dataset['api'] ?? '/api';

/** The API, with the types of its OpenAPI document, in the name of who is signed in. The browser adds the cookie of the session. */
export const api = createClient<paths>({ baseUrl: API, fetch: fetchWithSession });

interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/** The body of a success. @throws {Refused} with what the service says, or with what is wrong with the connection */
export const answered = async <Data>(answer: Promise<Answer<Data>>): Promise<Data> => {
  const { data, error, response } = await answer.catch((cause: unknown) => {
    throw new Refused(
      { detail: 'The service cannot be reached. This page tries again by itself.', code: 'unreachable' },
      0,
      { cause },
    );
  });
  if (response.ok) return data as Data;
  throw new Refused(refusalOf(error, response), response.status);
};

const refusalOf = (error: unknown, { status, statusText }: Response): Refusal =>
  typeof error === 'object' && error !== null && 'detail' in error
    ? (error as Refusal)
    : { detail: `The service answered ${status} ${statusText}.`, code: 'unknown' };
