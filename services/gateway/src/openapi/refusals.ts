import { HTTPValidationError, Refusal } from '@runledger/contracts/http/problem';
import type { TSchema } from 'typebox';
import type { Operation } from '../http/operation.ts';

/** How a refusal stands in the document. */
export interface DescribedRefusal {
  readonly name: string;
  readonly description: string;
  readonly body: TSchema;
  /** Headers that it has beside those of every answer. */
  readonly headers: readonly ('Retry-After' | 'WWW-Authenticate')[];
}

const refusal = (
  name: string,
  description: string,
  headers: DescribedRefusal['headers'] = [],
): DescribedRefusal => ({ name, description, body: Refusal, headers });

/** Every refusal of an operation, by status. */
export const REFUSALS: Readonly<Record<number, DescribedRefusal>> = {
  400: refusal('BadRequest', 'It is no request of HTTP/1.1, or its body cannot be read to the end.'),
  401: refusal('NotAuthenticated', 'There is no API key, or it is not valid, or not any more.', [
    'WWW-Authenticate',
  ]),
  403: refusal('NotAllowed', 'The API key is valid and lacks the scope.'),
  404: refusal('NotFound', 'There is no such thing in the organisation of the API key.'),
  408: refusal('TooSlow', 'The body was not sent in time.'),
  409: refusal(
    'Conflict',
    'It cannot be done as things stand, or the idempotency key was used with another request.',
  ),
  413: refusal('TooLarge', 'The body, or a part of it, is over the limit.'),
  415: refusal('UnsupportedType', 'The body is not JSON in UTF-8, or its encoding is none that is read.'),
  422: {
    name: 'Invalid',
    description:
      'The request does not fit its description; everything that is wrong with it is told at once.',
    body: HTTPValidationError,
    headers: [],
  },
  429: refusal('TooMany', "Too many requests with this API key, or the organisation's queue is full.", [
    'Retry-After',
  ]),
  431: refusal('HeadersTooLarge', 'The headers have more than 16 KiB.'),
  500: refusal('Internal', 'An error of the service; its log has it under the X-Request-Id.'),
  503: refusal(
    'Unavailable',
    'The log, the store of runs or the scheduler cannot be reached. Nothing was done, unless the same request with the same idempotency key says so later.',
    ['Retry-After'],
  ),
};

const ALWAYS = [400, 401, 403, 429, 431, 500, 503];
const WITH_BODY = [408, 413, 415, 422];

/** The statuses with which an operation can refuse. */
export const refusalsOf = ({ request, refusals }: Operation): number[] => {
  const hasTexts = request.path ?? request.query ?? request.headers;
  const statuses = [...ALWAYS, ...refusals, ...(request.body ? WITH_BODY : []), ...(hasTexts ? [422] : [])];
  return [...new Set(statuses)].toSorted((a, b) => a - b);
};
