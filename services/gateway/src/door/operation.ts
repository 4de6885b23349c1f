import { randomUUID } from 'node:crypto';
import type { AuditAction } from '@runledger/contracts/audit-actions';
import type { ApiKey, KeyScope } from '@runledger/contracts/catalogue/records';
import type { RunTokenScope } from '@runledger/contracts/http/runs/run-events';
import type { OrgId } from '@runledger/contracts/ids';
import type { JsonValue } from '@runledger/contracts/json';
import type { Context, Middleware } from 'koa';
import type { Static, TObject, TSchema } from 'typebox';
import { childTraceparent, activeTraceparent } from '@runledger/service-kit/spans';
import type { AuditDetails, AuditTarget } from '@runledger/contracts/audit-record';
import type { OwnRefusal, Invalid } from './refusal.ts';
import type { RenderedJson } from './responses.ts';

/** The parts of a request, each with its schema. */
export interface RequestSchemas {
  readonly path?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
}

/** What a client can do next with a response. */
interface Links {
  /** The ids of operations. */
  readonly to: readonly string[];
  /** Which parameters of their paths are which members of the body, as JSON pointers. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface SuccessResponse {
  readonly status: 200 | 201 | 204;
  readonly description: string;
  /** Undefined for a response that the operation writes itself, or that has no body. */
  readonly body?: TSchema;
  /** Of a response that the operation writes itself. */
  readonly contentTypes?: readonly string[];
  /** The events of a stream. The OpenAPI document lists their schemas, although it cannot say where they occur. */
  readonly events?: readonly TSchema[];
  /** No cache may store the response. */
  readonly holdsSecret?: true;
  /** The response may give the browser a session: the cookie, and the token in a header. */
  readonly beginsSession?: true;
  readonly links?: Links;
}

/** A token of the run that the path names permits the operation, with this scope. */
export interface RunTokenUse {
  readonly scope: RunTokenScope;
  /** It may stand in the query: an `EventSource` of a browser sends no headers of its own. */
  readonly inQuery?: true;
}

interface DescribedOperation<
  Request extends RequestSchemas = RequestSchemas,
  Response extends SuccessResponse = SuccessResponse,
> {
  /** The name of the function in a generated client. */
  readonly id: string;
  /** Under the base path, with parameters in braces: `/run/{run_id}`. */
  readonly path: string;
  readonly tag:
    | 'Runs'
    | 'Files'
    | 'Webhooks'
    | 'Catalogue'
    | 'Schedules'
    | 'Secrets'
    | 'Accounts'
    | 'API keys'
    | 'Audit'
    | 'Executors'
    | 'Organisation'
    | 'Sealed values'
    | 'System';
  readonly summary: string;
  readonly description?: string;
  /** The scope that the API key, or the session, needs; `none`: anybody may call it, and its function finds out who it is. */
  readonly scope: KeyScope | 'none';
  /** Another scope that is enough. */
  readonly orScope?: KeyScope;
  /** Left out where no token of a run is accepted. */
  readonly runToken?: RunTokenUse;
  readonly request: Request;
  /** One of the three of the run API that others implement too: parameters of the query that it does not know are ignored. */
  readonly ofSpecification?: true;
  readonly bodyOptional?: true;
  /** What the body is, when it is no JSON: the operation reads it itself, as it arrives. */
  readonly rawBody?: string;
  readonly response: Response;
  /** Other responses that are not refusals, such as 204 instead of a stream, each with its description. */
  readonly otherResponses?: Readonly<Record<number, string>>;
  /** Statuses beside those that follow from its schemas. */
  readonly refusals?: readonly OwnRefusal[];
}

/** What may change something says what its audit records are, or why it has none. */
type Audited<Request extends RequestSchemas> =
  | { readonly method: 'GET'; readonly audit?: AuditRule<CheckedRequest<Request>> }
  | {
      readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
      readonly audit: AuditRule<CheckedRequest<Request>>;
    };

/** One operation of the API. The router, the checks of a request and the OpenAPI document are made from it. */
export type Operation<
  Request extends RequestSchemas = RequestSchemas,
  Response extends SuccessResponse = SuccessResponse,
> = DescribedOperation<Request, Response> & Audited<Request>;

/** An operation whose caller is known before its function is called. */
type ScopedOperation<
  Request extends RequestSchemas = RequestSchemas,
  Response extends SuccessResponse = SuccessResponse,
> = Operation<Request, Response> & { readonly scope: KeyScope };

/** An operation without a caller, such as a sign-in. What is recorded of it is known within its function only. */
type OpenOperation<
  Request extends RequestSchemas = RequestSchemas,
  Response extends SuccessResponse = SuccessResponse,
> = Operation<Request, Response> & {
  readonly scope: 'none';
  readonly audit?: { readonly recordedWithin: AuditAction } | { readonly unrecorded: string };
};

type Fields<Schema> = Schema extends TSchema ? Static<Schema> : undefined;

/** A request that fits its schemas. UUIDs in its path and query are in lower case. */
export interface CheckedRequest<Request extends RequestSchemas> {
  readonly path: Fields<Request['path']>;
  readonly query: Fields<Request['query']>;
  readonly headers: Fields<Request['headers']>;
  readonly body: Fields<Request['body']>;
}

/** The owner of the API key of a request, or of the key that made the token of the request, or the person who is signed in. */
export interface Caller {
  /** Everything that the caller reads and writes belongs to this organisation. */
  readonly org_id: OrgId;
  readonly user_id: string;
  /** Of a token, with the scope of the operation only. Of a session, what it may do in the form of a key, under the id of the session. */
  readonly key: ApiKey;
  /** Of the client; null when the connection was closed already. */
  readonly address: string | null;
  /** Of a request with a token: when it expires, in milliseconds since 1970. */
  readonly token?: { readonly expires_at: number };
  /** Of a request with a session. */
  readonly session?: { readonly id: string };
}

/** What a request has of a session, which may have ended: both halves of its text, or one, which is worth nothing. */
export type SentSession =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'half'; readonly lacks: 'cookie' | 'token' }
  | { readonly kind: 'none' };

/** Somebody who may have no credential. */
export interface Visitor {
  /** Of the client; null when the connection was closed already. */
  readonly address: string | null;
  readonly session: SentSession;
}

/** What an operation says about who may call it. */
export type OperationAccess = Pick<ScopedOperation, 'scope' | 'orScope' | 'runToken'>;

/** Finds the caller of a request that may call the operation. @throws {Refused} with 401, 403 or 429 @throws {LogUnavailable} */
export type IdentifyCaller = (ctx: Context, operation: OperationAccess) => Promise<Caller>;

/** Says what is known of whoever calls an open operation. */
export type IdentifyVisitor = (ctx: Context) => Visitor;

type Body<Response extends SuccessResponse> = Response['body'] extends TSchema
  ? Static<Response['body']>
  : void;

/** Executes an operation. It throws `Refused` when the client gets a refusal. */
type Handle<Request extends RequestSchemas, Response extends SuccessResponse, Who = Caller> = (
  request: CheckedRequest<Request>,
  who: Who,
  ctx: Context,
) => Promise<Body<Response> | RenderedJson>;

/** A request that was read and may not fit its schemas. */
interface UncheckedRequest {
  readonly query: unknown;
  readonly body: JsonValue | undefined;
}

/** What is wrong with a request beyond its schemas. The refusal lists both together. */
export type ExtraCheck = (request: UncheckedRequest) => readonly Invalid[];

export interface ScopedRoute {
  readonly operation: ScopedOperation;
  readonly extraCheck: ExtraCheck | undefined;
  readonly handle: Handle<RequestSchemas, SuccessResponse>;
}

export interface OpenRoute {
  readonly operation: OpenOperation;
  readonly extraCheck: ExtraCheck | undefined;
  readonly handleVisitor: Handle<RequestSchemas, SuccessResponse, Visitor>;
}

export type Route = ScopedRoute | OpenRoute;

const described: Operation[] = [];

/** Describes an operation and keeps the types of its request and response. */
export const operation = <const Request extends RequestSchemas, const Response extends SuccessResponse>(
  operation: ScopedOperation<Request, Response>,
): ScopedOperation<Request, Response> => {
  described.push(operation);
  return operation;
};

/** Describes an operation that has no caller. */
export const openOperation = <const Request extends RequestSchemas, const Response extends SuccessResponse>(
  operation: OpenOperation<Request, Response>,
): OpenOperation<Request, Response> => {
  described.push(operation);
  return operation;
};

/** The operations of all modules that are loaded: `npm run docs` makes docs/openapi.json from them, without a gateway. */
export const describedOperations = (): readonly Operation[] => described;

/** Joins an operation and the function that executes it. */
export const route = <Request extends RequestSchemas, Response extends SuccessResponse>(
  described: ScopedOperation<Request, Response>,
  handle: Handle<Request, Response>,
  extraCheck?: ExtraCheck,
): Route => ({ operation: described, extraCheck, handle });

/** Joins an operation without a caller and the function that executes it. */
export const openRoute = <Request extends RequestSchemas, Response extends SuccessResponse>(
  described: OpenOperation<Request, Response>,
  handleVisitor: Handle<Request, Response, Visitor>,
  extraCheck?: ExtraCheck,
): Route => ({ operation: described, extraCheck, handleVisitor });

interface RequestContext {
  /** The client's `X-Request-Id`, or a new one; the correlation id of the events that the request causes. */
  readonly request_id: string;
  /** Of this request, a child of the client's: that of its span, when traces are made. */
  readonly traceparent: string;
}

const CONTEXT = Symbol('context');
type Remembering = Context['req'] & { [CONTEXT]?: RequestContext };
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export const requestOf = ({ req }: Context): RequestContext => {
  const remembering: Remembering = req;
  return (remembering[CONTEXT] ??= new ContextOfRequest(req));
};

class ContextOfRequest implements RequestContext {
  readonly request_id: string;
  readonly #header: string;
  readonly #active: string | undefined;
  #traceparent: string | undefined;

  constructor({ headers }: Context['req']) {
    const given = headers['x-request-id'];
    this.request_id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    this.#header = String(headers['traceparent'] ?? '');
    this.#active = activeTraceparent();
  }

  /** Made when it is read: only requests that write events need it, and it costs as much as a read of SQLite. */
  get traceparent(): string {
    return (this.#traceparent ??= this.#active ?? childTraceparent(this.#header));
  }
}

/** A path beside the operations of the API, such as an output file. It does everything itself, also authentication. */
export interface PlainRoute {
  readonly method: 'GET' | 'PUT';
  /** In the syntax of the router. */
  readonly path: string;
  readonly serve: Middleware;
  /** The request waits while the log is unavailable, as operations do until they know the caller. */
  readonly needsLog?: true;
}

/** What the audit records of an operation say. */
interface RecordedOperation<Request> {
  readonly action: AuditAction;
  /** The parameter of the path that names what it is done to. Left out: what it creates, by the `id` of the response. */
  readonly target?: string;
  /** Members of the response that the record keeps: ids, scopes, times and numbers. */
  readonly keeps?: readonly string[];
  /** It concerns what no organisation owns. */
  readonly installation?: true;
  /** What the request says, without values that clients choose freely. */
  details?(request: Request): AuditDetails;
}

/** Each operation that changes something has one. */
type AuditRule<Request> =
  | RecordedOperation<Request>
  /** Its function records the action, when a request is one. */
  | { readonly recordedWithin: AuditAction }
  | { readonly unrecorded: string };

/** Actions are named after what they are done to. */
export const targetOf = (action: AuditAction, id: unknown): AuditTarget => ({
  kind: action.slice(0, action.indexOf('.')),
  id: typeof id === 'string' ? id : null,
});

/** These members of a response, as far as a record can hold them. */
export const keptOf = (response: unknown, keeps: readonly string[]): AuditDetails =>
  Object.fromEntries(
    Object.entries(Object(response)).flatMap(([name, value]): [string, AuditDetails[string]][] =>
      keeps.includes(name) && isDetail(value) ? [[name, value]] : [],
    ),
  );

const isDetail = (value: unknown): value is AuditDetails[string] =>
  value === null ||
  ['string', 'number', 'boolean'].includes(typeof value) ||
  (Array.isArray(value) && value.every((item) => typeof item === 'string'));
