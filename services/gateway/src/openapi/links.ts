import type { Operation } from '../http/operation.ts';
import type { JsonSchema } from './components.ts';

/** What a client can do next with the response of an operation, as OpenAPI says it. Empty for nothing. */
export const linksOf = ({ id, request, response }: Operation): JsonSchema => {
  const { to = [], parameters = {} } = response.links ?? {};
  const members = Object.entries(parameters).map(([name, pointer]) => [name, inBody(pointer)]);
  const named = to.map((operationId) => [
    operationId,
    { operationId, parameters: Object.fromEntries(members) },
  ]);
  return Object.fromEntries([...named, ...(hasPages(request) ? [['nextPage', nextPage(id, request)]] : [])]);
};

/** Every list has `next_cursor`. */
const hasPages = ({ query }: Operation['request']): boolean =>
  Object.hasOwn(query?.properties ?? {}, 'cursor');

const nextPage = (operationId: string, { path }: Operation['request']): JsonSchema => ({
  operationId,
  parameters: {
    ...Object.fromEntries(Object.keys(path?.properties ?? {}).map((name) => [name, `$request.path.${name}`])),
    cursor: inBody('/next_cursor'),
  },
  description: 'The next page, unless `next_cursor` is null.',
});

const inBody = (pointer: string): string => `$response.body#${pointer}`;
