import { randomBytes, randomUUID } from 'node:crypto';
import { activeTraceparent } from '@runledger/service-kit/tracing/spans';
import {
  childOf,
  formatTraceparent,
  newTrace,
  parseTraceparent,
} from '@runledger/service-kit/tracing/trace-context';
import type { Context } from 'koa';

export interface RequestContext {
  /** The client's `X-Request-Id`, or a new one; the correlation id of what the request sets off. */
  readonly request_id: string;
  /** Of this request, a child of the client's: that of its span, when traces are made. */
  readonly traceparent: string;
}

const contexts = new WeakMap<Context['req'], RequestContext>();
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export const requestOf = ({ req }: Context): RequestContext => {
  const known = contexts.get(req);
  if (known) return known;
  const asked = req.headers['x-request-id'];
  const context = {
    request_id: typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : randomUUID(),
    traceparent: activeTraceparent() ?? ownTraceparent(req.headers['traceparent']),
  };
  contexts.set(req, context);
  return context;
};

const ownTraceparent = (given: string | string[] | undefined): string => {
  const parent = parseTraceparent(String(given ?? ''));
  return formatTraceparent(parent ? childOf(parent, randomBytes) : newTrace(randomBytes));
};
