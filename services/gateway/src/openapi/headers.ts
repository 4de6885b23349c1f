import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import type { JsonSchema } from './components.ts';

const header = (description: string, schema: JsonSchema): JsonSchema => ({ description, schema });
const text = { type: 'string' };

/** The headers of responses, by their names. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  'API-Version': header('The version of the API.', { type: 'string', const: 'V2' }),
  'X-Request-Id': header("The client's, or a new one. The service's log has it.", text),
  ETag: header('Of this response. Send it as If-None-Match to learn whether it has changed.', text),
  'Retry-After': header('Seconds.', { type: 'string', pattern: '^\\d+$' }),
  'WWW-Authenticate': header('How to authenticate.', text),
  'RateLimit-Policy': header('The limit of this API key: `q` requests in `w` seconds.', text),
  [IGNORED_MEMBERS_HEADER]: header(
    'The members of the body that the operation does not know, and ignored: probably misspelt. Paths with dots, separated by commas; names are percent-encoded. `...` at the end: there are more. Left out without any.',
    { ...text, examples: ['inputz, retry.attemps'] },
  ),
  [WARNING_HEADER]: header(
    'A sentence for each name in the request that the operation does not know, and ignored: members of the body, and parameters of the query where these are not refused. At most eight. Left out without any.',
    { ...text, examples: ['unknown body member "inptus"; did you mean "inputs"?'] },
  ),
  RateLimit: header('The rest of the limit: `r` requests now; it is full again in `t` seconds.', text),
};

export const ALWAYS = ['API-Version', 'X-Request-Id'];
/** Of a request that counts against the rate limit of its key. */
export const COUNTED = [...ALWAYS, 'RateLimit-Policy', 'RateLimit'];

export const headersOf = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
