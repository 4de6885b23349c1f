import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { SESSION_HEADER } from '@runledger/contracts/http/headers/session';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import type { JsonSchema } from './components.ts';

const header = (description: string, schema: JsonSchema): JsonSchema => ({ description, schema });
const textLike = (example: string): JsonSchema => ({ type: 'string', examples: [example] });

/** The headers of responses, by their names. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  'API-Version': header('The version of the API.', { type: 'string', const: 'V2' }),
  'X-Request-Id': header(
    "The id of the request: the client's, or a new one. The service's log has it.",
    textLike('01a21460-ae48-7794-b9bb-ade918a387db'),
  ),
  ETag: header(
    'The entity tag of this response. Send it as If-None-Match to learn whether it has changed.',
    textLike('W/"1b-2kZ8nV9J4hFJ0rG1rN3pQb5Xn0k"'),
  ),
  'Retry-After': header('Seconds after which the request may succeed.', {
    type: 'string',
    pattern: '^\\d+$',
    examples: ['2'],
  }),
  'WWW-Authenticate': header('How to authenticate.', textLike('Bearer')),
  'RateLimit-Policy': header(
    'The limit of this API key: `q` requests in `w` seconds. Left out without a limit.',
    textLike('"default";q=600;w=60'),
  ),
  [SESSION_HEADER]: header(
    'The token of the session that the response begins. Send it in the request header of this name, with the cookie that the response sets. Left out where the session of the request goes on.',
    textLike('Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE'),
  ),
  [IGNORED_MEMBERS_HEADER]: header(
    'The members of the body that the operation does not know, and ignored: probably misspelt. Paths with dots, separated by commas; names are percent-encoded. `...` at the end: there are more. Left out without any.',
    textLike('inputz, retry.attemps'),
  ),
  [WARNING_HEADER]: header(
    'Sentences about what is probably a mistake, separated by commas: names in the request that the operation does not know and ignored, inputs that the version does not define, a deployment whose runs no executor could take now. At most eight of each. Left out without any.',
    textLike('unknown body member "inptus"; did you mean "inputs"?'),
  ),
  RateLimit: header(
    'The rest of the limit: `r` requests now; it is full again in `t` seconds. Left out without a limit.',
    textLike('"default";r=598;t=1'),
  ),
};

export const ALWAYS = ['API-Version', 'X-Request-Id'];
/** Of a request that counts against the rate limit of its key. */
export const COUNTED = [...ALWAYS, 'RateLimit-Policy', 'RateLimit'];

export const headersOf = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
