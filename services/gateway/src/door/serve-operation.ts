import type { Context, Middleware } from 'koa';
import { IGNORED_MEMBERS_HEADER, wantsExactNumbers, WARNING_HEADER } from '@runledger/contracts/http/headers';
import { answerJson } from '@runledger/contracts/json';
import { sendTagged, RenderedJson, REVALIDATED } from './responses.ts';
import {
  ignoredMembers,
  unknownMembers,
  knownParameters,
  unknownInQuery,
  warningsOf,
  type UnknownMember,
} from './unknown-names.ts';
import { checkedRequest } from './checked-request.ts';
import type { JsonBody } from './json-body.ts';
import type {
  Caller,
  CheckedRequest,
  IdentifyCaller,
  IdentifyVisitor,
  Operation,
  RequestSchemas,
  Route,
} from './operation.ts';

export interface Serving {
  readonly identifyCaller: IdentifyCaller;
  readonly identifyVisitor: IdentifyVisitor;
  readonly body: JsonBody;
  /** Carries out a request, and records it where its operation says so. */
  readonly audited: (
    operation: Operation,
    request: AdmittedRequest,
    work: () => Promise<unknown>,
  ) => Promise<unknown>;
}

/** A request whose caller is known and may send it. */
interface AdmittedRequest {
  readonly given: CheckedRequest<RequestSchemas>;
  readonly caller: Caller;
  readonly ctx: Context;
}

/** Checks a request in the order of the specification: credential, scope, rate, content type, size, validation. Then executes the operation. */
export const serveOperation = (route: Route, serving: Serving): Middleware => {
  const { operation } = route;
  const { request, response } = operation;
  const check = checkedRequest(route);
  const known = knownParameters(operation);
  return async (ctx) => {
    ctx.state['operation'] = operation.id;
    // Before anything else of the request is read.
    const execute = await executorFor(route, serving, ctx);
    const given = check(ctx, request.body ? await serving.body(ctx) : undefined);
    warn(ctx, unknownMembers(request.body, given.body), known);
    const answer = await execute(given);
    if (response.body) {
      ctx.status = response.status;
      sendJson(ctx, answer, response.holdsSecret !== true && READS.has(ctx.method));
    } else if (response.status === 204) ctx.status = 204;
  };
};

/** What executes the operation for whoever calls. @throws {Refused} */
const executorFor = async (
  route: Route,
  { audited, ...identify }: Serving,
  ctx: Context,
): Promise<Execute> => {
  if ('handleVisitor' in route) {
    const visitor = identify.identifyVisitor(ctx);
    return (given) => route.handleVisitor(given, visitor, ctx);
  }
  const { operation, handle } = route;
  const caller = await identify.identifyCaller(ctx, operation);
  return (given) => audited(operation, { given, caller, ctx }, () => handle(given, caller, ctx));
};

type Execute = (given: CheckedRequest<RequestSchemas>) => Promise<unknown>;

/** Names what the operation ignores. Parameters of a query are here only where an operation does not refuse them. */
const warn = (ctx: Context, members: readonly UnknownMember[], known: readonly string[]): void => {
  const ignored = ignoredMembers(members);
  if (ignored !== undefined) ctx.set(IGNORED_MEMBERS_HEADER, ignored);
  const warnings = warningsOf(members, unknownInQuery(ctx.query, known), known);
  if (warnings.length > 0) ctx.set(WARNING_HEADER, warnings);
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** As Koa would write it, which looks it up for each response. */
const JSON_TYPE = 'application/json; charset=utf-8';

const sendJson = (ctx: Context, answer: unknown, isCacheable: boolean): void => {
  const isExact = wantsExactNumbers(ctx.get('accept'));
  const text = textOf(answer, isExact);
  ctx.vary('Accept');
  ctx.set('Content-Type', JSON_TYPE);
  if (!isCacheable) {
    ctx.body = text;
    return;
  }
  // A client may cache it, and has to revalidate it each time.
  ctx.set('Cache-Control', REVALIDATED);
  sendTagged(ctx, text, answer instanceof RenderedJson && text === answer.text ? answer.tag : undefined);
};

const textOf = (answer: unknown, isExact: boolean): string => {
  if (answer instanceof RenderedJson) return isExact ? answer.exact : answer.text;
  return isExact ? JSON.stringify(answer) : answerJson(answer);
};
