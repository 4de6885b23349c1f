import type { Context, Middleware } from 'koa';
import type { RecordAction } from '@runledger/event-log/audit/record-action';
import { recordOperation } from '../audit/record-operation.ts';
import { sendTagged } from '../http/entity-tag.ts';
import { RenderedJson } from '../http/rendered-json.ts';
import { REVALIDATED } from '../http/response-headers.ts';
import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { wantsExactNumbers } from '@runledger/contracts/http/headers/exact-numbers';
import { answerJson } from '@runledger/contracts/numbers/long-integers';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import { ignoredMembers, unknownMembers, type UnknownMember } from '../validation/ignored-members.ts';
import { knownParameters, unknownInQuery } from '../validation/unknown-parameters.ts';
import { warningsOf } from '../validation/warnings.ts';
import { checkedRequest } from '../validation/checked-request.ts';
import type { JsonBody } from './json-body.ts';
import type {
  CheckedRequest,
  IdentifyCaller,
  IdentifyVisitor,
  RequestSchemas,
  Route,
} from '../http/operation.ts';

export interface Serving {
  readonly identifyCaller: IdentifyCaller;
  readonly identifyVisitor: IdentifyVisitor;
  readonly body: JsonBody;
  readonly record: RecordAction;
}

/** Checks a request in the order of the specification: credential, scope, rate, content type, size, validation. Then executes the operation. */
export const serveOperation = (route: Route, serving: Serving): Middleware => {
  const { operation } = route;
  const { request, response } = operation;
  const check = checkedRequest(route);
  const known = knownParameters(operation);
  return async (ctx) => {
    ctx.state['operation'] = operation.id;
    const execute = await admitted(route, serving, ctx);
    const given = check(ctx, request.body ? await serving.body(ctx) : undefined);
    warn(ctx, unknownMembers(request.body, given.body), known);
    const answer = await execute(given);
    if (response.body) {
      ctx.status = response.status;
      sendJson(ctx, answer, response.holdsSecret !== true && READS.has(ctx.method));
    } else if (response.status === 204) ctx.status = 204;
  };
};

/** Finds who calls, before anything else of the request is read, and returns what executes the operation for them. */
const admitted = async (
  route: Route,
  { identifyCaller, identifyVisitor, record }: Serving,
  ctx: Context,
): Promise<(given: CheckedRequest<RequestSchemas>) => Promise<unknown>> => {
  if ('handleVisitor' in route) {
    const visitor = identifyVisitor(ctx);
    return (given) => route.handleVisitor(given, visitor, ctx);
  }
  const { operation, handle } = route;
  const caller = await identifyCaller(ctx, operation);
  return (given) =>
    recordOperation(operation, { record, given, caller, ctx }, () => handle(given, caller, ctx));
};

/** Names what the operation ignores. Parameters of a query are here only where an operation does not refuse them. */
const warn = (ctx: Context, members: readonly UnknownMember[], known: readonly string[]): void => {
  const ignored = ignoredMembers(members);
  if (ignored !== undefined) ctx.set(IGNORED_MEMBERS_HEADER, ignored);
  const warnings = warningsOf(members, unknownInQuery(ctx.query, known), known);
  if (warnings.length > 0) ctx.set(WARNING_HEADER, warnings);
};

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const sendJson = (ctx: Context, answer: unknown, isCacheable: boolean): void => {
  const isExact = wantsExactNumbers(ctx.get('accept'));
  const text = textOf(answer, isExact);
  ctx.vary('Accept');
  ctx.type = 'application/json';
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
