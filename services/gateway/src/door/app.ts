import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import Koa from 'koa';
import type { Middleware, Context } from 'koa';
import { statusOf } from '@runledger/contracts/http/refusal-codes';
import { isRunId } from '@runledger/contracts/ids';
import { inSpan, makesTraces, markFailed } from '@runledger/service-kit/spans';
import { cors, type ClientAddresses, WAIT_FOR_LOG_MS, waitForLog } from './edge.ts';
import { requestOf, type PlainRoute, type Route } from './operation.ts';
import {
  Refused,
  responseTo,
  refusalOf,
  noSuchPath,
  type KnownFailure,
  type RefusalResponse,
} from './refusal.ts';
import { commonHeaders } from './responses.ts';
import { openPaths, type Paths, type Place } from './paths.ts';
import { serveOperation, type Serving } from './serve-operation.ts';
import { drainRequestBody } from './http-server.ts';
import type { Kit } from '../kit.ts';

/** What the gateway serves, and whom. */
interface Served {
  readonly routes: readonly Route[];
  readonly plainRoutes: readonly PlainRoute[];
  readonly serving: Serving;
  readonly clients: ClientAddresses;
  readonly failures: readonly KnownFailure[];
}

/** Every path of the gateway. */
export const createApp = (kit: Kit, served: Served): Koa => {
  const { config, log, logger } = kit;
  const { RUNLEDGER_BASE_PATH: basePath, RUNLEDGER_CORS_ORIGINS: origins } = config;
  const { routes, plainRoutes, serving, clients, failures } = served;
  const paths = openPaths(basePath);
  const whenAvailable = onceAvailable(log);
  for (const route of routes) {
    const { path, method } = route.operation;
    paths.register(`${basePath}${inRouterForm(path)}`, method, serveOperation(route, serving));
  }
  for (const { path, method, serve, needsLog } of plainRoutes) {
    paths.register(path, method, needsLog ? whenAvailable(serve) : serve);
  }

  const app = new Koa();
  app.on('error', (err: unknown) => logger.debug({ err }, 'a response was interrupted'));
  app.use(traceRequests);
  app.use(measure(kit, clients));
  app.use(answerRefusals({ logger, headers: commonHeaders(config.RUNLEDGER_PUBLIC_URL), failures }));
  app.use(refuseUnreadableTargets);
  if (origins.length > 0) app.use(cors(origins, (path) => paths.at(path)?.methods ?? []));
  app.use(paths.serve);
  app.use(refuseTheRest(paths, basePath));
  return app;
};

const inRouterForm = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const onceAvailable = (log: EventLog): ((serve: Middleware) => Middleware) => {
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  return (serve) => async (ctx, next) => {
    await logAvailable();
    await serve(ctx, next);
  };
};

/** Counts and logs each response, by the id of its operation, or by the pattern of a plain route's path. */
const measure =
  ({ metrics, logger, clock }: Kit, clients: ClientAddresses): Middleware =>
  async (ctx, next) => {
    const began = clock();
    // The connection may be closed at the end.
    const client_ip = clients.of(ctx.req);
    await next();
    const ms = clock() - began;
    const { method, status } = ctx;
    const route = ctx['_matchedRoute'] ?? 'none';
    const { operation = route, org_id }: Record<string, unknown> = ctx.state;
    metrics.answered(String(operation), status, ms / 1000);
    const { request_id } = requestOf(ctx);
    logger.debug({ request_id, method, route, status, client_ip, org_id, ms: Math.round(ms) }, 'answered');
  };

/** Also refuses targets that no URL parser accepts, such as `GET http://[ HTTP/1.1`. */
const refuseUnreadableTargets: Middleware = (ctx, next) => {
  let path: unknown;
  try {
    path = ctx.path;
  } catch {
    throw new Refused({ code: 'malformed_request', why: 'The target of the request is not a valid URL' });
  }
  if (typeof path !== 'string' || !path.startsWith('/')) throw noSuchPath(ctx);
  // HTTP/1.1 requires it. Node would refuse by itself, but in its own form.
  if (ctx.req.httpVersion === '1.1' && ctx.req.headers.host === undefined) {
    throw new Refused({ code: 'malformed_request', why: 'Send the header Host' });
  }
  return next();
};

/** Nothing is served at the path, or other methods are. The refusal says which, or what is missing of the path. */
const refuseTheRest = (paths: Paths, basePath: string): Middleware => {
  const all = `${basePath}/docs lists all operations.`;
  return (ctx) => {
    const { method, path } = ctx;
    const present = paths.at(path);
    if (present) {
      const allowed = present.methods.join(', ');
      const why = `${method} is not allowed on ${documented(present)}. Allowed: ${allowed}.`;
      throw new Refused({ code: 'method_not_allowed', why, headers: { Allow: allowed } });
    }
    const meant = paths.at(`${basePath}${path}`) ?? paths.at(path.replace(/\/+$/, ''));
    throw noSuchPath(ctx, meant ? `Did you mean ${documented(meant)}? ${all}` : all);
  };
};

/** As the API documents it: `/api/run/{run_id}`. */
const documented = ({ pattern }: Place): string => pattern.replaceAll(/:(\w+)/g, '{$1}');

interface AnswerRefusals {
  readonly logger: Logger;
  /** On every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly failures: readonly KnownFailure[];
}

/** The client gets a response in the form of the API for everything that is thrown inside. */
export const answerRefusals = ({ logger, headers, failures }: AnswerRefusals): Middleware => {
  const always = Object.entries(headers);
  return async (ctx, next) => {
    const { req, res } = ctx;
    const { request_id } = requestOf(ctx);
    for (const [name, value] of always) res.setHeader(name, value);
    res.setHeader('X-Request-Id', request_id);
    try {
      await next();
    } catch (error) {
      const refusal = refusalOf(error, failures);
      if (refusal.code === 'internal_error') logger.error({ err: error, request_id }, 'a request failed');
      else if (statusOf(refusal.code) === 503) {
        logger.warn({ err: error, request_id }, 'a request could not be served now');
      }
      answer(ctx, responseTo(refusal, request_id));
    }
    drainRequestBody(req, res);
  };
};

const answer = (ctx: Context, { status, headers, body }: RefusalResponse): void => {
  if (ctx.res.headersSent) {
    ctx.res.destroy();
    return;
  }
  ctx.status = status;
  ctx.set(headers);
  ctx.body = body;
};

/** Any other method is named `_OTHER`: clients may send anything, and span names must be few. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);

/**
 * A span for each request, below that of the client: https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 * It ends when the response is decided, before its body is sent, which takes minutes for a stream. It has no paths and
 * queries: those of output files are secrets.
 */
const traceRequests: Middleware = (ctx, next) => {
  if (!makesTraces()) return next();
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
