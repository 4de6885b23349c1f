import { sendRequest } from './http-request.ts';
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
  const request = { method: 'GET', headers: {}, signal: abort.signal };
  const response = await sendRequest(`${completed}/openapi.json`, request).finally(inTime);
  response.on('error', () => undefined).destroy();
  const isDocument =
    response.statusCode === 200 && /^application\/json\b/.test(response.headers['content-type'] ?? '');
  return isDocument ? completed : undefined;
};
