import { isRunId } from '@runledger/contracts/ids';
import { inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import type { Context, Middleware } from 'koa';
import { requestOf } from '../http/request-context.ts';

/** Any other method is named `_OTHER`: clients may send anything, and span names must be few. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);

/**
 * A span for each request, below that of the client: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 * It ends when the response is decided, before its body is sent, which takes minutes for a stream. It has no paths and
 * queries: those of output files are secrets.
 */
export const traceRequests: Middleware = (ctx, next) => {
  const method = METHODS.has(ctx.method) ? ctx.method : '_OTHER';
  const parent = ctx.get('traceparent') || null;
  return inSpan(
    method,
    { kind: 'server', parent, attributes: { 'http.request.method': method } },
    async (span) => {
      // The first call fixes the request's context, so it must be inside this span.
      requestOf(ctx);
      await next();
      const route: unknown = ctx['_matchedRoute'];
      if (typeof route === 'string') span.updateName(`${method} ${route}`).setAttribute('http.route', route);
      span.setAttribute('http.response.status_code', ctx.status);
      span.setAttributes(about(ctx));
      if (ctx.status >= 500) markFailed(span, String(ctx.status));
    },
  );
};

const about = ({ state, params }: Context): Record<string, string> => {
  const { operation, org_id }: { operation?: unknown; org_id?: unknown } = state;
  const run_id: unknown = params?.['run_id'];
  return {
    ...(typeof operation === 'string' ? { 'runledger.operation': operation } : {}),
    ...(typeof org_id === 'string' ? { 'runledger.org_id': org_id } : {}),
    ...(typeof run_id === 'string' && isRunId(run_id) ? { 'runledger.run_id': run_id } : {}),
  };
};
