import { Router } from '@koa/router';
import type { Logger } from '@runledger/event-log/logger';
import Koa, { type Context, type Middleware } from 'koa';
import { answerProblems } from './answer-problems.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Route } from './operation.ts';
import { Refused } from './problem.ts';
import { requestOf } from './request-context.ts';
import { serveOperation, type Serving } from './serve-operation.ts';

/** A path outside the operations of the API, which looks after itself. */
export interface Page {
  readonly method: 'GET' | 'PUT';
  /** In the router's form. */
  readonly path: string;
  readonly serve: Middleware;
}

export interface AppOptions {
  /** The prefix of the API's own paths, such as `/api`. */
  readonly basePath: string;
  readonly routes: readonly Route[];
  readonly pages: readonly Page[];
  readonly serving: Serving;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Every path of the gateway. */
export const createApp = (options: AppOptions): Koa => {
  const { basePath, routes, pages, serving, logger } = options;
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    const { at, method } = route.operation;
    router.register(`${basePath}${inRouterForm(at)}`, [method], serveOperation(route, serving));
  }
  for (const { path, method, serve } of pages) router.register(path, [method], serve);

  const app = new Koa();
  app.on('error', (err: unknown) => logger.debug({ err }, 'a response broke off'));
  app.use(measure(options));
  app.use(answerProblems(logger));
  app.use(refuseUnreadableTargets);
  app.use(router.routes());
  app.use(refuseTheRest(router));
  return app;
};

const inRouterForm = (at: string): string => at.replaceAll(/\{(\w+)\}/g, ':$1');
const measure =
  ({ metrics, logger, clock }: Pick<AppOptions, 'metrics' | 'logger' | 'clock'>): Middleware =>
  async (ctx, next) => {
    const began = clock();
    await next();
    const ms = clock() - began;
    const route = String(ctx['_matchedRoute'] ?? 'none');
    metrics.answered(route, METHODS.has(ctx.method) ? ctx.method : 'other', ctx.status, ms / 1000);
    const { request_id } = requestOf(ctx);
    const { method, status } = ctx;
    const fields = { request_id, method, route, status, ms: Math.round(ms), org_id: ctx.state['org_id'] };
    logger.debug(fields, 'answered');
  };

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);

/** Also what no URL parser takes, such as `GET http://[ HTTP/1.1`. */
const refuseUnreadableTargets: Middleware = async (ctx, next) => {
  let path: unknown;
  try {
    path = ctx.path;
  } catch {
    throw new Refused({ kind: 'bad_request', why: 'The target of the request is not a valid URL' });
  }
  if (typeof path !== 'string' || !path.startsWith('/')) throw new Refused({ kind: 'no_such_path' });
  // HTTP/1.1 wants it, and Node, which would answer by itself, is told to leave that to us.
  if (ctx.req.httpVersion === '1.1' && ctx.req.headers.host === undefined) {
    throw new Refused({ kind: 'bad_request', why: 'Send the header Host' });
  }
  await next();
};

/** No route took it: the path is unknown, or known for other methods. */
const refuseTheRest =
  (router: Router): Middleware =>
  async (ctx: Context) => {
    const allow = new Set(router.match(ctx.path, ctx.method).path.flatMap(({ methods }) => methods));
    throw new Refused(
      allow.size === 0 ? { kind: 'no_such_path' } : { kind: 'method_not_allowed', allow: [...allow].sort() },
    );
  };
