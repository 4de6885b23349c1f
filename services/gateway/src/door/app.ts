import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import Koa from 'koa';
import type { Middleware, Context } from 'koa';
import { Router, type Layer, type RouterMiddleware } from '@koa/router';
import { statusOf } from '@runledger/contracts/http/refusal-codes';
import { isRunId } from '@runledger/contracts/ids';
import { inSpan, markFailed } from '@runledger/service-kit/spans';
import { cors, type ClientAddresses, type MethodsAt, WAIT_FOR_LOG_MS, waitForLog } from './edge.ts';
import { noteAnswers, requestOf, type PlainRoute, type Route } from './operation.ts';
import { Refused, responseTo, refusalOf, type KnownFailure, type RefusalResponse } from './refusal.ts';
import { noSuchPath, nearestPath } from './nearest-name.ts';
import { commonHeaders } from './responses.ts';
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
  const routers = openRouters(basePath);
  const withLog = onceAvailable(log);
  for (const route of routes) {
    const { path, method } = route.operation;
    routers.register(`${basePath}${inRouterForm(path)}`, method, [serveOperation(route, serving)]);
  }
  for (const { path, method, serve, needsLog } of plainRoutes) {
    routers.register(path, method, needsLog ? [withLog, serve] : [serve]);
  }

  const app = new Koa();
  app.on('error', (err: unknown) => logger.debug({ err }, 'a response was interrupted'));
  app.use(traceRequests);
  app.use(measure(kit, clients));
  app.use(answerRefusals({ logger, headers: commonHeaders(config.RUNLEDGER_PUBLIC_URL), failures }));
  app.use(refuseUnreadableTargets);
  if (origins.length > 0) app.use(cors(origins, methodsOf(routers)));
  app.use(routers.serve);
  app.use(refuseTheRest(routers, { basePath, routes }));
  return app;
};

const inRouterForm = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const onceAvailable = (log: EventLog): Middleware => {
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  return async (_ctx, next) => {
    await logAvailable();
    await next();
  };
};

const measure = ({ metrics, logger, clock }: Kit, clients: ClientAddresses): Middleware => {
  const note = noteAnswers({ onResponse: metrics.answered, logger });
  return async (ctx, next) => {
    const began = clock();
    // The connection may be closed at the end.
    const client_ip = clients.of(ctx.req);
    await next();
    const ms = clock() - began;
    const route = String(ctx['_matchedRoute'] ?? 'none');
    const operation: unknown = ctx.state['operation'];
    const { method, status } = ctx;
    const org_id: unknown = ctx.state['org_id'];
    note(ctx.req, {
      client_ip,
      method,
      route,
      operation: typeof operation === 'string' ? operation : route,
      status,
      ms,
      org_id,
    });
  };
};

/** Also refuses targets that no URL parser accepts, such as `GET http://[ HTTP/1.1`. */
const refuseUnreadableTargets: Middleware = async (ctx, next) => {
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
  await next();
};

interface Routers {
  /** `path` is in the syntax of the router. @throws {RangeError} when its beginning is not fixed */
  readonly register: (path: string, method: string, serve: Middleware[]) => void;
  readonly serve: RouterMiddleware;
  /** The routes of a path, whatever their method. */
  readonly at: (path: string) => readonly Pick<Layer, 'path' | 'methods'>[];
}

/**
 * The routes, divided by the beginning of their paths: `/api/run`, `/api/files`. A router tries all its routes in turn for each
 * request, and the API has more than a hundred.
 */
export const openRouters = (basePath: string): Routers => {
  const routers = new Map<string, { readonly router: Router; readonly serve: RouterMiddleware }>();
  const beginningOf = (path: string): string => {
    const begins = path.startsWith(`${basePath}/`) ? basePath.length + 1 : 1;
    const ends = path.indexOf('/', begins);
    return ends === -1 ? path : path.slice(0, ends);
  };
  const open = (beginning: string): Router => {
    if (!FIXED.test(beginning)) throw new RangeError(`the path ${beginning} has to begin with a fixed name`);
    const router = new Router({ sensitive: true, strict: true });
    routers.set(beginning, { router, serve: router.routes() });
    return router;
  };
  /** Paths without parameters: `/invitations/accept` is no invitation with the id `accept`. */
  const named = new Set<string>();
  const at: Routers['at'] = (path) => {
    const routes = routers.get(beginningOf(path))?.router.match(path, 'OPTIONS').path ?? [];
    return named.has(path) ? routes.filter((route) => route.path === path) : routes;
  };
  return {
    register: (path, method, serve) => {
      if (!path.includes(':')) named.add(path);
      const beginning = beginningOf(path);
      (routers.get(beginning)?.router ?? open(beginning)).register(path, [method], serve);
    },
    serve: (ctx, next) => {
      const serve =
        named.has(ctx.path) && !hasMethod(at(ctx.path), ctx.method)
          ? undefined
          : routers.get(beginningOf(ctx.path))?.serve;
      return serve?.(ctx, next) ?? next();
    },
    at,
  };
};

const hasMethod = (routes: readonly Pick<Layer, 'methods'>[], method: string): boolean =>
  routes.some(({ methods }) => methods.includes(method));

const FIXED = /^[\w./~-]+$/;

/** No route matched: the path is unknown, or it has other methods. The refusal says which, or the nearest path. */
const refuseTheRest = (
  routers: Routers,
  { basePath, routes }: { readonly basePath: string; readonly routes: readonly Route[] },
): Middleware => {
  const methodsAt = methodsOf(routers);
  const known = routes.map(({ operation: { method, path } }) => ({ method, path: `${basePath}${path}` }));
  const all = `${basePath}/docs lists all operations.`;
  return async (ctx) => {
    const { method, path } = ctx;
    const allowed = methodsAt(path).join(', ');
    if (allowed !== '') {
      const why = `${method} is not allowed on ${patternAt(routers, path)}. Allowed: ${allowed}.`;
      throw new Refused({ code: 'method_not_allowed', why, headers: { Allow: allowed } });
    }
    const nearest = nearestPath({ method, path }, { known, basePath });
    throw noSuchPath(ctx, nearest ? `Did you mean ${nearest.method} ${nearest.path}? ${all}` : all);
  };
};

const methodsOf =
  ({ at }: Routers): MethodsAt =>
  (path) =>
    [...new Set(at(path).flatMap(({ methods }) => methods))].sort();

/** As the API documents it: `/api/run/{run_id}`. */
const patternAt = ({ at }: Routers, path: string): string =>
  String(at(path)[0]?.path ?? '').replaceAll(/:(\w+)/g, '{$1}');

interface AnswerRefusals {
  readonly logger: Logger;
  /** On every response. */
  readonly headers: Readonly<Record<string, string>>;
  readonly failures: readonly KnownFailure[];
}

/** The client gets a response in the form of the API for everything that is thrown inside. */
export const answerRefusals =
  ({ logger, headers, failures }: AnswerRefusals): Middleware =>
  async (ctx, next) => {
    const { request_id } = requestOf(ctx);
    ctx.set(headers);
    ctx.set('X-Request-Id', request_id);
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
    drainRequestBody(ctx.req, ctx.res);
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
