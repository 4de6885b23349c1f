import { randomBytes, randomUUID } from 'node:crypto';
import { childOf, formatTraceparent, newTrace, parseTraceparent } from '@runledger/service-kit/trace-context';
import type { Context } from 'koa';

export interface RequestContext {
  /** The client's `X-Request-Id`, or a new one; the correlation id of what the request sets off. */
  readonly request_id: string;
  /** Of this request, a child of the client's. */
  readonly traceparent: string;
}

const contexts = new WeakMap<Context['req'], RequestContext>();
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export const requestOf = ({ req }: Context): RequestContext => {
  const known = contexts.get(req);
  if (known) return known;
  const asked = req.headers['x-request-id'];
  const parent = parseTraceparent(String(req.headers['traceparent'] ?? ''));
  const trace = parent ? childOf(parent, randomBytes) : newTrace(randomBytes);
  const context = {
    request_id: typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : randomUUID(),
    traceparent: formatTraceparent(trace),
  };
  contexts.set(req, context);
  return context;
};
