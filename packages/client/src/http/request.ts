import type {
  Bytes,
  CommonOptions,
  JsonOf,
  Method,
  OperationOf,
  OptionsArgument,
  PathOf,
  RequestOptions,
} from '../operations.ts';
import { RunledgerError } from '../errors.ts';
import { isJson, foreignSuccess } from './refusal.ts';
import { isObject, parsed } from './json.ts';
import { exchange, type ApiRequest, type Opened } from './exchange.ts';
import type { Settings } from './settings.ts';
import { withRetries } from './retries.ts';

/** Calls any operation of the API and returns the JSON of its response. @throws RunledgerError */
export type Request = <const M extends Method, const Path extends PathOf<M>>(
  method: M,
  path: Path,
  ...options: OptionsArgument<RequestOptions<OperationOf<M, Path>>>
) => Promise<JsonOf<OperationOf<M, Path>>>;

/** The same, and returns the response: for a body that is not JSON, or for its headers. */
export type RequestResponse = <const M extends Method, const Path extends PathOf<M>>(
  method: M,
  path: Path,
  ...options: OptionsArgument<RequestOptions<OperationOf<M, Path>>>
) => Promise<Response>;

export interface AnyOptions extends CommonOptions {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** Sends a request, and sends it again where that is safe. */
export const send = <Result>(
  settings: Settings,
  method: string,
  path: string,
  options: AnyOptions,
  read: (opened: Opened) => Promise<Result>,
): Promise<Result> => {
  const request = requestOf(settings, method, path, options);
  const { idempotent = method === 'GET' || 'idempotency-key' in request.headers, signal } = options;
  return withRetries(settings, { idempotent, signal }, () => exchange(settings, request, read));
};

export const requestOf = (
  { timeoutMs }: Pick<Settings, 'timeoutMs'>,
  method: string,
  path: string,
  options: AnyOptions,
): ApiRequest => {
  const { params, query, body, signal } = options;
  const headers: Record<string, string> = {};
  if (body !== undefined && !isFile(body)) headers['content-type'] = 'application/json';
  for (const [name, value] of Object.entries(options.headers ?? {}))
    if (value !== undefined) headers[name.toLowerCase()] = String(value);
  return {
    method,
    path: addressOf(path, params, query),
    headers,
    ...(body === undefined ? {} : { body: isFile(body) ? body : jsonOf(body) }),
    signal,
    timeoutMs: options.timeoutMs ?? timeoutMs,
  };
};

/** Whether it is sent as it is. Anything else is sent as JSON. */
export const isFile = (value: unknown): value is Bytes =>
  value instanceof Blob || value instanceof ArrayBuffer || value instanceof Uint8Array;

/** A bigint is a number of its digits, which JSON.stringify refuses to write. */
const jsonOf = (value: unknown): string => {
  let mark: string | undefined;
  const marked = (_name: string, member: unknown): unknown =>
    typeof member === 'bigint' ? `${(mark ??= crypto.randomUUID())}${member}` : member;
  try {
    const text = JSON.stringify(value, marked);
    return mark === undefined ? text : text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1');
  } catch (error) {
    throw new RunledgerError(`The request cannot be written as JSON: ${String(error)}`, { cause: error });
  }
};

const NO_CONTENT = 204;
/** All that Runledger answers is an object. */
const BEGUN = /^\s*\{/;

/** The JSON of a response; undefined for one without a body. What is thrown here says how far it came. */
export const readJson = async ({ response, asked, limit }: Opened): Promise<unknown> => {
  const text = await response.text();
  limit.close();
  if (text === '') {
    if (response.status === NO_CONTENT) return undefined;
    throw new Error('the answer is empty');
  }
  const value = parsed(text);
  if (isObject(value)) return value;
  if (isJson(response.headers) && BEGUN.test(text) && value === undefined)
    throw new Error('its JSON is cut off');
  throw foreignSuccess(response, asked, text);
};

/** The response itself, whose body takes as long as it takes. */
export const readResponse = async ({ response, limit }: Opened): Promise<Response> => {
  limit.lift();
  return response;
};

type Value = string | number | boolean;

/** Undefined and null are left out; a list is a pair for each of its values. */
type Query = Readonly<Record<string, Value | readonly Value[] | null | undefined>>;

/** A path of the document with its parameters and a query. @throws RunledgerError for a missing parameter */
const addressOf = (
  path: string,
  params: Readonly<Record<string, Value | undefined>> = {},
  query: Query = {},
): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    // An empty one would be another address.
    if (value === undefined || value === '')
      throw new RunledgerError(`${path} needs ${name}. Give it as params: { ${name}: … }.`);
    return encodeURIComponent(value);
  });
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(each)}`),
  );
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
};
