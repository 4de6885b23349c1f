import { IGNORED_MEMBERS_HEADER, SESSION_HEADER, WARNING_HEADER } from '@runledger/contracts/http/headers';
import type { TObject } from 'typebox';
import type { Operation } from '../door/operation.ts';
import { own } from '../door/compiled.ts';
import {
  components,
  REFUSAL_COMPONENTS,
  refusalsOf,
  webhookDescriptions,
  type Components,
  type JsonSchema,
  type RefusalComponent,
} from './components.ts';

export type OpenApiDocument = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

/** The document with other operations. */
export const withOperations = (
  document: OpenApiDocument,
  change: (operation: object, path: string, method: string) => object,
): OpenApiDocument => ({
  ...document,
  paths: mapObject(document.paths, (operations, path) =>
    mapObject(operations, (operation, method) => change(Object(operation), path, method)),
  ),
});

const mapObject = <Value, Result>(
  members: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)]));

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
  const types = response.contentTypes ?? [];
  return types.length === 0
    ? {}
    : { content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])) };
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

const header = (description: string, schema: JsonSchema): JsonSchema => ({ description, schema });
const textLike = (example: string): JsonSchema => ({ type: 'string', examples: [example] });

/** The headers of responses, by their names. */
const HEADERS: Readonly<Record<string, JsonSchema>> = {
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

const ALWAYS = ['API-Version', 'X-Request-Id'];
/** Of a request that counts against the rate limit of its key. */
const COUNTED = [...ALWAYS, 'RateLimit-Policy', 'RateLimit'];

const headersOf = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** What a client can do next with the response of an operation, as OpenAPI says it. Empty for nothing. */
const linksOf = ({ id, request, response }: Operation): JsonSchema => {
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

const description = `
Runs deployed workflows on GPU machines.

A run of a deployment is queued, read by its id, and cancelled; it reports to a webhook. Every run ends, in exactly one of
\`success\`, \`failed\`, \`timeout\` and \`cancelled\`.

**Times** are ISO 8601 in UTC. **Durations** are seconds. **Ids** are UUIDs. Clients should ignore unknown members:
members may be added, and are never removed.

**Errors** have the body \`{"detail": …, "code": …, "request_id": …}\`. \`detail\` is a list of what is wrong for 422, and a sentence for every other
status. \`code\` is for programs: one cause with one remedy, which docs/errors.md of Runledger names. Clients may meet new codes.
Parameters of a query that an operation does not know are refused, except by \`queueRun\`, \`getRun\` and \`cancelRun\`, which name
them in the header \`Runledger-Warning\`.

**Lists** are newest first. \`next_cursor\` of a page leads to the next page. A new run changes no later page.
`.trim();

const INFO = {
  title: 'Runledger run API',
  version: 'V2',
  description,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

const about: Readonly<Record<Operation['tag'], string>> = {
  Runs: 'Queue, read, list, stream, cancel and repeat runs.',
  Files: 'Upload the files that are inputs of runs.',
  Webhooks: 'The outcome of notifications, and the secret that signs them.',
  Catalogue: 'Machines, workflows with their versions, and deployments.',
  Schedules: 'Runs of a deployment at the times of a cron expression.',
  Secrets: 'What programs of the organisation get as variables, and nobody is shown.',
  Accounts: 'People who sign in, the organisations that they are members of, and invitations.',
  'API keys': "A user's keys.",
  Audit: 'Who did what.',
  Organisation: 'What it uses of the shared stores, its quotas, and for how long its runs are kept.',
  System: 'The installation as a whole, for its operators.',
  'Sealed values': 'What is stored encrypted, for the operators who change the keys.',
  Executors: 'What executes runs, for the operators of the fleet.',
};

const TAGS = Object.entries(about).map(([name, description]) => ({ name, description }));
