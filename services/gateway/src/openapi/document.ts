import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { SESSION_HEADER } from '@runledger/contracts/http/headers/session';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import type { TObject } from 'typebox';
import type { Operation } from '../http/operation.ts';
import { own } from '../validation/node.ts';
import { components, type Components, type JsonSchema } from './components.ts';
import { ALWAYS, COUNTED, HEADERS, headersOf } from './headers.ts';
import { INFO, TAGS } from './introduction.ts';
import { linksOf } from './links.ts';
import { REFUSAL_COMPONENTS, refusalsOf, type RefusalComponent } from './refusals.ts';
import { webhookDescriptions } from './webhook-descriptions.ts';

export type OpenApiDocument = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** The OpenAPI 3.1 document of the operations. `server`: the address of the API with its base path. */
export const openApiDocument = (operations: readonly Operation[], server: string): OpenApiDocument => {
  const schemas = components();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(operation, schemas);
  }
  const responses = Object.fromEntries(
    REFUSAL_COMPONENTS.map((refusal) => [refusal.name, describeRefusal(refusal, schemas)]),
  );
  const webhooks = webhookDescriptions(schemas);
  return {
    openapi: '3.1.1',
    info: INFO,
    servers: [{ url: server }],
    tags: TAGS,
    security: [{ apiKey: [] }, SESSION],
    paths,
    webhooks,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the organisation.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'runledger_session',
          description:
            'One half of the session of a person who is signed in; a request needs both. With https its name begins with `__Host-`. An API key counts before a session.',
        },
        sessionToken: {
          type: 'apiKey',
          in: 'header',
          name: SESSION_HEADER,
          description:
            'The other half: the token, which the response of the sign-in has in the header of this name. A browser sends the cookie to every port of the host, and the token only for the page that keeps it.',
        },
        runToken: { type: 'http', scheme: 'bearer', description: 'A token of the run that the path names.' },
        runTokenInQuery: {
          type: 'apiKey',
          in: 'query',
          name: 'access_token',
          description: 'A token of the run that the path names. An API key is refused here.',
        },
      },
      schemas: schemas.schemas(),
      responses,
      headers: HEADERS,
    },
  };
};

const describe = (operation: Operation, schemas: Components): JsonSchema => {
  const { id, tag, summary, request, bodyOptional, rawBody } = operation;
  const parameters = [
    ...parametersOf(request.path, 'path', schemas),
    ...parametersOf(request.query, 'query', schemas),
    ...parametersOf(request.headers, 'header', schemas),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: descriptionOf(operation),
    ...securityOf(operation),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request.body
      ? {
          requestBody: {
            required: bodyOptional !== true,
            content: { 'application/json': { schema: schemas.of(request.body) } },
          },
        }
      : {}),
    ...(rawBody === undefined ? {} : { requestBody: rawBodyOf(rawBody) }),
    responses: responsesOf(operation, schemas),
  };
};

const responsesOf = (operation: Operation, schemas: Components): JsonSchema => {
  const { request, response, otherResponses = {} } = operation;
  const links = linksOf(operation);
  return {
    [response.status]: {
      description: response.description,
      headers: headersOf([
        ...COUNTED,
        ...(isTagged(operation) ? ['ETag'] : []),
        ...(response.beginsSession ? [SESSION_HEADER] : []),
        ...(request.body ? [IGNORED_MEMBERS_HEADER] : []),
        ...(request.body || operation.ofSpecification ? [WARNING_HEADER] : []),
      ]),
      ...contentOf(operation, schemas),
      ...(Object.keys(links).length === 0 ? {} : { links }),
    },
    ...Object.fromEntries(
      Object.entries(otherResponses).map(([status, why]) => [
        status,
        { description: why, headers: headersOf(COUNTED) },
      ]),
    ),
    ...(isTagged(operation)
      ? {
          304: {
            description: 'The client has the present version already.',
            headers: headersOf([...COUNTED, 'ETag']),
          },
        }
      : {}),
    ...Object.fromEntries(
      refusalsOf(operation).map(({ status, name }) => [status, { $ref: `#/components/responses/${name}` }]),
    ),
  };
};

const descriptionOf = (operation: Operation): string => {
  const { description, runToken } = operation;
  const needs =
    operation.scope === 'none'
      ? 'It needs no API key.'
      : `The API key needs the scope ${scopesOf(operation)}.`;
  const tokenNeeds = runToken ? ` A token of the run needs \`${runToken.scope}\`.` : '';
  return `${description === undefined ? '' : `${description}\n\n`}${needs}${tokenNeeds}${auditOf(operation)}`;
};

/** Both halves. */
const SESSION = { session: [], sessionToken: [] };

const securityOf = ({ scope, runToken }: Operation): JsonSchema => {
  // Nothing is needed.
  if (scope === 'none') return { security: [{}, SESSION] };
  if (runToken === undefined) return {};
  const inQuery = runToken.inQuery ? [{ runTokenInQuery: [] }] : [];
  return { security: [{ apiKey: [] }, SESSION, { runToken: [] }, ...inQuery] };
};

const scopesOf = ({ scope, orScope }: Operation): string =>
  orScope === undefined ? `\`${scope}\`` : `\`${scope}\` or \`${orScope}\``;

const auditOf = ({ audit = { unrecorded: 'it changes nothing' } }: Operation): string => {
  if ('unrecorded' in audit) return '';
  return ` Its audit records have the action \`${'action' in audit ? audit.action : audit.recordedWithin}\`.`;
};

const rawBodyOf = (description: string): JsonSchema => ({
  description,
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
});

/** Whether responses have an entity tag. */
const isTagged = ({ method, response }: Operation): boolean =>
  method === 'GET' && response.body !== undefined && response.holdsSecret !== true;

const contentOf = ({ response }: Operation, schemas: Components): JsonSchema => {
  if (response.body) return { content: { 'application/json': { schema: schemas.of(response.body) } } };
  response.events?.forEach(schemas.of);
  return response.contentType === undefined
    ? {}
    : { content: { [response.contentType]: { schema: { type: 'string' } } } };
};

const parametersOf = (
  schema: TObject | undefined,
  source: 'path' | 'query' | 'header',
  schemas: Components,
): JsonSchema[] =>
  Object.entries(schema?.properties ?? {}).map(([name, member]) => {
    const described = own(member, 'description');
    return {
      name,
      in: source,
      required: schema?.required?.includes(name) === true,
      ...(typeof described === 'string' ? { description: described } : {}),
      schema: schemas.of(member),
    };
  });

const describeRefusal = (
  { description, body, headers = [], uncounted }: RefusalComponent,
  schemas: Components,
): JsonSchema => ({
  description,
  headers: headersOf([...(uncounted ? ALWAYS : COUNTED), ...headers]),
  content: { 'application/json': { schema: schemas.of(body) } },
});
