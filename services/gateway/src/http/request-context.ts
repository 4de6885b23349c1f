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

const CONTEXT = Symbol('context');
type Remembering = Context['req'] & { [CONTEXT]?: RequestContext };
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export const requestOf = ({ req }: Pick<Context, 'req'>): RequestContext => {
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
