import { randomUUID } from 'node:crypto';
import { childTraceparent } from '@runledger/service-kit/tracing/child-traceparent';
import { activeTraceparent } from '@runledger/service-kit/tracing/spans';
import type { Context } from 'koa';

export interface RequestContext {
  /** The client's `X-Request-Id`, or a new one; the correlation id of the events that the request causes. */
  readonly request_id: string;
  /** Of this request, a child of the client's: that of its span, when traces are made. */
  readonly traceparent: string;
}

const contexts = new WeakMap<Context['req'], RequestContext>();
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export const requestOf = ({ req }: Pick<Context, 'req'>): RequestContext => {
  const known = contexts.get(req);
  if (known) return known;
  const given = req.headers['x-request-id'];
  const header = String(req.headers['traceparent'] ?? '');
  const active = activeTraceparent();
  let traceparent: string | undefined;
  const context: RequestContext = {
    request_id: typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID(),
    // Only requests that write events need it, and it costs as much as a read of SQLite.
    get traceparent() {
      return (traceparent ??= active ?? childTraceparent(header));
    },
  };
  contexts.set(req, context);
  return context;
};
