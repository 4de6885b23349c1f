import type { Operation } from '../http/operation.ts';
import { invalid, type Invalid } from '../http/refusal.ts';
import { nearestName } from '../names/nearest-name.ts';
import { EXTRA } from './pydantic-words.ts';
import { isNode, own } from './node.ts';

/** RFC 6750, section 2.3: where a token of a run may stand. */
export const TOKEN_PARAMETER = 'access_token';

const MAX_NAMED = 16;
const MAX_NAME_LENGTH = 64;

/** The names that a query of the operation may have. */
export const knownParameters = ({ request, runToken }: Pick<Operation, 'request' | 'runToken'>): string[] => {
  const properties = own(request.query, 'properties');
  return [
    ...(isNode(properties) ? Object.keys(properties) : []),
    ...(runToken?.inQuery ? [TOKEN_PARAMETER] : []),
  ];
};

/** The names in a query that an operation does not know. */
export const unknownInQuery = (query: object, known: readonly string[]): string[] =>
  Object.keys(query).filter((name) => !known.includes(name));

/** What is wrong with a query that has other names: a misspelt filter would select everything. */
export const unknownParameters = (query: object, known: readonly string[]): Invalid[] =>
  unknownInQuery(query, known)
    .slice(0, MAX_NAMED)
    .map((name) => {
      const nearest = nearestName(name, known);
      const hint = nearest === undefined ? allOf(known) : `Did you mean '${nearest}'?`;
      return invalid(
        ['query', name.slice(0, MAX_NAME_LENGTH).toWellFormed()],
        EXTRA.type,
        `${EXTRA.msg}: the operation has no such parameter of the query. ${hint}`,
      );
    });

const allOf = (known: readonly string[]): string =>
  known.length === 0 ? 'It has none' : `It has ${known.map((name) => `'${name}'`).join(', ')}`;
