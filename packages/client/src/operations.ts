import type { paths, components } from './generated/api-types.ts';

/** What the types say about a request, made from those of the document. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The paths that have the method. */
export type PathOf<M extends Method> = {
  [Path in keyof paths]: paths[Path][Lowercase<M>] extends object ? Path : never;
}[keyof paths];

export type OperationOf<M extends Method, Path extends PathOf<M>> = paths[Path][Lowercase<M>];

type PartOf<Operation, Part extends string> = Operation extends {
  parameters: Readonly<Partial<Record<Part, infer Given>>>;
}
  ? Exclude<Given, undefined>
  : never;

export type QueryOf<Operation> = PartOf<Operation, 'query'>;

/** What a file may be; a `Buffer` is a `Uint8Array`. */
export type Bytes = Blob | Uint8Array | ArrayBuffer;

type ContentOf<Operation> = Operation extends { requestBody?: infer Body }
  ? Exclude<Body, undefined> extends { content: infer Content }
    ? Content
    : never
  : never;

type BodyOf<Operation> = ContentOf<Operation> extends { 'application/json': infer Body } ? Body : Bytes;

/** The JSON of a response; undefined for one without a body. */
export type JsonOf<Operation> = Operation extends { responses: infer Responses }
  ? SuccessOf<Responses> extends infer Success
    ? Success extends { content: { 'application/json': infer Body } }
      ? Body
      : undefined
    : never
  : never;

type SuccessOf<Responses> = Responses[Extract<keyof Responses, 200 | 201>] extends never
  ? Responses[Extract<keyof Responses, 204>]
  : Responses[Extract<keyof Responses, 200 | 201>];

/** Members that are required when the operation requires something of them. */
type Member<Name extends string, Given> = [Given] extends [never]
  ? { readonly [Key in Name]?: never }
  : Partial<Given> extends Given
    ? { readonly [Key in Name]?: Given | undefined }
    : { readonly [Key in Name]: Given };

/** Others may be sent too, such as a Content-Type or a traceparent. */
type AnyHeaders = Readonly<Record<string, string | number | undefined>>;

type HeadersMember<Given> = [Given] extends [never]
  ? { readonly headers?: AnyHeaders | undefined }
  : Partial<Given> extends Given
    ? { readonly headers?: (Given & AnyHeaders) | undefined }
    : { readonly headers: Given & AnyHeaders };

type BodyMember<Operation> = Operation extends { requestBody: object }
  ? { readonly body: BodyOf<Operation> }
  : [ContentOf<Operation>] extends [never]
    ? { readonly body?: never }
    : { readonly body?: BodyOf<Operation> | undefined };

export interface CommonOptions {
  readonly signal?: AbortSignal | undefined;
  /** Instead of those of the client, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether it may be carried out twice, so that it is sent again after a lost connection or a 503. When left out, that is so for GET
   * and for a request with an Idempotency-Key.
   */
  readonly idempotent?: boolean | undefined;
}

export type RequestOptions<Operation> = CommonOptions &
  Member<'params', PartOf<Operation, 'path'>> &
  Member<'query', QueryOf<Operation>> &
  HeadersMember<PartOf<Operation, 'header'>> &
  BodyMember<Operation>;

/** The options may be left out when none is required. */
export type OptionsArgument<Options> =
  Partial<Options> extends Options ? [options?: Options] : [options: Options];

/** The schemas of the OpenAPI document by their names. */
export type Schemas = components['schemas'];

export type Run = Schemas['WorkflowRun'];
export type RunStatus = Schemas['RunStatus'];
export type RunFact = Schemas['RunFactEvent'];
export type RunProgress = Schemas['RunProgressEvent'];
export type LogLine = Schemas['RunLogLine'];
export type LogCut = Schemas['RunLogCut'];
export type LogNotice = Schemas['RunLogNotice'];
/** A line, `cut` where lines are missing, or a `notice` about an attempt. */
export type LogItem = LogLine | LogCut | LogNotice;
export type UploadedFile = Schemas['UploadedFile'];
/** The body of a webhook. */
export type Notification = Schemas['WebhookPayload'];
/** What is wrong with a request, and where. */
export type Problem = Schemas['ValidationError'];
