import { Router } from '@koa/router';
import type { Logger } from '@runledger/event-log/logger';
import Koa, { type Context, type Middleware } from 'koa';
import { answerProblems } from './answer-problems.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { Refused } from './problem.ts';
import { requestOf } from './request-context.ts';

interface Routes {
  /** The prefix of the API's own paths, such as `/api`. */
  readonly basePath: string;
  readonly queue: Middleware;
  readonly get: Middleware;
  readonly cancel: Middleware;
  readonly deliveries: Middleware;
  readonly redeliver: Middleware;
  readonly listDeliveries: Middleware;
  readonly redeliverMany: Middleware;
  readonly showWebhookSecret: Middleware;
  readonly rotateWebhookSecret: Middleware;
  readonly upload: Middleware;
  readonly serve: Middleware;
}

export interface AppOptions {
  readonly routes: Routes;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Every path of the gateway. */
export const createApp = ({ routes, metrics, logger, clock }: AppOptions): Koa => {
  const { basePath } = routes;
  const router = new Router({ sensitive: true });
  router.post(`${basePath}/run/deployment/queue`, routes.queue);
  router.get(`${basePath}/run/:run_id`, routes.get);
  router.post(`${basePath}/run/:run_id/cancel`, routes.cancel);
  router.get(`${basePath}/run/:run_id/deliveries`, routes.deliveries);
  router.post(`${basePath}/run/:run_id/redeliver`, routes.redeliver);
  router.get(`${basePath}/webhooks/deliveries`, routes.listDeliveries);
  router.post(`${basePath}/webhooks/redeliver`, routes.redeliverMany);
  router.get(`${basePath}/webhooks/secret`, routes.showWebhookSecret);
  router.post(`${basePath}/webhooks/secret`, routes.rotateWebhookSecret);
  router.put('/executions/:org_id/:run_id/:attempt/outputs', routes.upload);
  router.get('/outputs/:key/:filename', routes.serve);

  const app = new Koa();
  app.on('error', (err: unknown) => logger.debug({ err }, 'a response broke off'));
  app.use(measure({ metrics, logger, clock }));
  app.use(answerProblems(logger));
  app.use(refuseUnreadableTargets);
  app.use(router.routes());
  app.use(refuseTheRest(router));
  return app;
};

const measure =
  ({ metrics, logger, clock }: Omit<AppOptions, 'routes'>): Middleware =>
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
