import { sendRequest } from './http-request.ts';

const BASE_PATH = '/api';
const ANSWER_WITHIN_MS = 5_000;

/**
 * The URL of the API when this one has no path and the API is below `/api`, where it usually is; undefined otherwise. It sends no key.
 * Rejects without an answer.
 */
export const forgottenBasePath = async (url: string): Promise<string | undefined> => {
  if (URL.parse(url)?.pathname !== '/') return undefined;
  const completed = `${url}${BASE_PATH}`;
  const response = await sendRequest(`${completed}/openapi.json`, {
    method: 'GET',
    headers: {},
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  response.on('error', () => undefined).destroy();
  const isDocument =
    response.statusCode === 200 && /^application\/json\b/.test(response.headers['content-type'] ?? '');
  return isDocument ? completed : undefined;
};
