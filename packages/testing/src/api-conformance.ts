import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Exchange {
  readonly method: string;
  /** Under the server of the document, without a query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the body is not JSON. */
  readonly body: unknown;
}

/** The difference between an answer and the document; undefined if they agree. */
export type Conformance = (exchange: Exchange) => string | undefined;

type JsonObject = Readonly<Record<string, unknown>>;
const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const member = (node: unknown, name: string): unknown => (isJsonObject(node) ? node[name] : undefined);

const DOCUMENT = 'api';
/** The statuses for an unknown path or method, or a malformed request. */
const UNDESCRIBED: ReadonlySet<number> = new Set([400, 404, 405, 408, 413, 417, 431]);

/**
 * Compares answers with an OpenAPI 3.1 document: status, media type, headers, body. A body may have only members that the
 * document names, although clients must accept others.
 */
export const conformanceTo = (document: unknown): Conformance => {
  const closed = closeSchemas(document);
  if (!isJsonObject(closed)) throw new TypeError('The OpenAPI document is not an object');
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(closed, DOCUMENT);
  const validators = new Map<string, ValidateFunction>();
  /** Validates the JSON body of a response. Compiled once, which takes much longer than validating. */
  const validatorAt = (pointer: string): ValidateFunction => {
    const body = `${DOCUMENT}#${pointer}/content/application~1json/schema`;
    const validator =
      validators.get(pointer) ?? ajv.compile({ $ref: body.replaceAll('{', '%7B').replaceAll('}', '%7D') });
    validators.set(pointer, validator);
    return validator;
  };
  return ({ method, path, status, headers, body }) => {
    const found = operationOf(closed, method === 'HEAD' ? 'GET' : method, path);
    const about = `${method} ${path} answered ${status}`;
    if (!found)
      return UNDESCRIBED.has(status) ? undefined : `${about}, and the document has no such operation`;
    const inline = member(member(found.operation, 'responses'), String(status));
    if (inline === undefined) return `${about}, which the document does not name`;
    const reference = member(inline, '$ref');
    const pointer =
      typeof reference === 'string' ? reference.slice(1) : `${found.pointer}/responses/${status}`;
    const response = typeof reference === 'string' ? resolvePointer(closed, pointer) : inline;
    const missing = ['API-Version', 'X-Request-Id'].find((name) => !headers.has(name));
    if (missing !== undefined) return `${about} without the header ${missing}`;
    const content = member(response, 'content');
    const types = isJsonObject(content) ? Object.keys(content) : [];
    const type = headers.get('content-type')?.split(';')[0];
    if (types.length === 0) {
      return type === undefined ? undefined : `${about} with a body, which the document does not have`;
    }
    if (method === 'HEAD') return undefined;
    if (type === undefined || !types.includes(type))
      return `${about} as ${type ?? 'nothing'} and not as ${types.join()}`;
    if (type !== 'application/json') return undefined;
    const validate = validatorAt(pointer);
    return validate(body)
      ? undefined
      : `${about}, and its body violates the document: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`;
  };
};

const operationOf = (
  document: JsonObject,
  method: string,
  path: string,
): { readonly operation: unknown; readonly pointer: string } | undefined => {
  const paths = member(document, 'paths');
  for (const [template, methods] of Object.entries(isJsonObject(paths) ? paths : {})) {
    const operation = member(methods, method.toLowerCase());
    const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    if (operation === undefined || !pattern.test(path)) continue;
    return { operation, pointer: `/paths/${template.replaceAll('/', '~1')}/${method.toLowerCase()}` };
  }
  return undefined;
};

const resolvePointer = (document: JsonObject, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, token) => member(node, token), document);

/** Forbids members that the document does not name, in every object. */
const closeSchemas = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closeSchemas);
  if (!isJsonObject(value)) return value;
  const members = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, closeSchemas(inner)]),
  );
  const isObject = value['type'] === 'object' && isJsonObject(value['properties']);
  return isObject &&
    Object.keys(members['properties'] ?? {}).length > 0 &&
    value['additionalProperties'] === undefined
    ? { ...members, additionalProperties: false }
    : members;
};

interface Example {
  /** Of its schema in the document, as a JSON pointer. */
  readonly pointer: string;
  readonly value: unknown;
}

/** The examples of all schemas of an OpenAPI 3.1 document, each with the place of its schema. */
const examplesIn = (node: unknown, pointer = ''): Example[] => {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, child]: [string, unknown]) =>
    name === 'examples' && Array.isArray(child)
      ? child.map((value: unknown) => ({ pointer, value }))
      : examplesIn(child, `${pointer}/${escaped(name)}`),
  );
};

/** One sentence for each example that its own schema refuses. */
export const wrongExamples = (document: object): string[] => {
  // It would check each schema once more. Another test checks the document.
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  addFormats.default(ajv);
  ajv.addSchema(document, DOCUMENT);
  return examplesIn(document).flatMap(({ pointer, value }) => {
    const validate = ajv.compile({ $ref: `${DOCUMENT}#${encodeURI(pointer)}` });
    return validate(value)
      ? []
      : [`${pointer}: ${JSON.stringify(value)} is no example of it: ${ajv.errorsText(validate.errors)}`];
  });
};

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
