import { ApiError } from '@runledger/client/source';
import { send } from '../api-client/api-call.ts';
import { whenLate } from './when-late.ts';

const BASE_PATH = '/api';
const ANSWER_WITHIN_MS = 5_000;

/**
 * The URL of the API when this one has no path and the API is below `/api`, where it usually is; undefined otherwise. It sends no key.
 * Rejects without an answer.
 */
export const forgottenBasePath = async (url: string): Promise<string | undefined> => {
  if (URL.parse(url)?.pathname !== '/') return undefined;
  const completed = `${url}${BASE_PATH}`;
  const abort = new AbortController();
  const late = new Error(`it sent nothing for ${ANSWER_WITHIN_MS / 1_000} s`);
  const inTime = whenLate(ANSWER_WITHIN_MS, () => abort.abort(late));
  try {
    const document = { method: 'GET', path: '/openapi.json' } as const;
    const response = await send({ url: completed, apiKey: null }, document, abort);
    const isDocument = /^application\/json\b/.test(response.headers.get('content-type') ?? '');
    return isDocument ? completed : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  } finally {
    inTime();
    // Nobody reads the document.
    abort.abort();
  }
};
