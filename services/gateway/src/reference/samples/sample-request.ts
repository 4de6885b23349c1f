import { exampleBody, exampleValue } from './example-value.ts';
import { isObject, listIn, objectIn, textIn, type Json, type JsonObject } from './json.ts';

/** A request of an operation, with example values for all that it requires. */
export interface SampleRequest {
  /** The operationId. */
  readonly id: string;
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly params: Readonly<Record<string, Scalar>>;
  readonly query: Readonly<Record<string, Scalar>>;
  readonly headers: Readonly<Record<string, Scalar>>;
  readonly body: SampleBody | undefined;
  /** What a successful response has: `pages` are a list that continues, `bytes` is no JSON. */
  readonly answer: 'json' | 'pages' | 'bytes' | 'nothing';
}

/** The value of a parameter. */
type Scalar = string | number | boolean;

export type SampleBody = { readonly json: Json } | { readonly file: string };

/** The file that samples send. */
const SAMPLE_FILE = 'fox.png';

export const sampleRequest = (
  path: string,
  method: string,
  operation: JsonObject,
  document: JsonObject,
): SampleRequest => {
  const valuesIn = (source: string): Record<string, Scalar> =>
    Object.fromEntries(
      listIn(operation, 'parameters')
        .filter(
          (one) =>
            one['in'] === source && (one['required'] === true || ALWAYS_SHOWN.has(textIn(one, 'name'))),
        )
        .map((one) => [textIn(one, 'name'), exampleOfParameter(one, document)]),
    );
  return {
    id: textIn(operation, 'operationId'),
    method: method.toUpperCase(),
    path,
    params: valuesIn('path'),
    query: valuesIn('query'),
    headers: valuesIn('header'),
    body: bodyOf(operation, document),
    answer: answerOf(operation, document),
  };
};

/** Headers that no request needs, and careful callers send. */
const ALWAYS_SHOWN = new Set(['Idempotency-Key']);

const exampleOfParameter = (parameter: JsonObject, document: JsonObject): Scalar => {
  const name = textIn(parameter, 'name');
  if (name === 'Idempotency-Key') return 'order-4711';
  const value = parameter['example'] ?? exampleValue(objectIn(parameter, 'schema'), document, name);
  const [first] = Array.isArray(value) ? value : [value];
  return typeof first === 'object' || first === undefined ? 'example' : first;
};

const bodyOf = (operation: JsonObject, document: JsonObject): SampleBody | undefined => {
  const content = objectIn(objectIn(operation, 'requestBody'), 'content');
  const json = content['application/json'];
  if (isObject(json)) return { json: exampleBody(json, document) };
  return Object.keys(content).length === 0 ? undefined : { file: SAMPLE_FILE };
};

const answerOf = (operation: JsonObject, document: JsonObject): SampleRequest['answer'] => {
  const [success] = Object.entries(objectIn(operation, 'responses'))
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => objectIn(response, 'content'));
  const json = success?.['application/json'];
  if (!isObject(json)) return Object.keys(success ?? {}).length === 0 ? 'nothing' : 'bytes';
  const name = textIn(objectIn(json, 'schema'), '$ref').replace(/.*\//, '');
  const schema = objectIn(objectIn(objectIn(document, 'components'), 'schemas'), name);
  const isList = textIn(operation, 'operationId').startsWith('list');
  return isList && 'next_cursor' in objectIn(schema, 'properties') ? 'pages' : 'json';
};

/** What the body of `queueRun` queues, with an input to show how they are given. */
export const queuedIn = (body: SampleBody | undefined): { deployment_id: Json; inputs: Json } => {
  const json = body !== undefined && 'json' in body && isObject(body.json) ? body.json : {};
  return { deployment_id: json['deployment_id'] ?? null, inputs: json['inputs'] ?? { prompt: 'a fox' } };
};
