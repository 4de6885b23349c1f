import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import Koa, { type Middleware } from 'koa';
import { answerRefusals } from './answer-refusals.ts';
import type { ClientAddresses } from './client-address.ts';
import { cors } from './cors.ts';
import type { PlainRoute } from '../http/plain-route.ts';
import type { KnownFailure } from './refusal-of.ts';
import type { Route } from '../http/operation.ts';
import { noSuchPath } from '../names/no-such-path.ts';
import { Refused } from '../http/refusal.ts';
import { noteAnswers, type NotedAnswers } from '../http/note-answers.ts';
import { commonHeaders } from '../http/response-headers.ts';
import { methodsOf, refuseTheRest } from './refuse-the-rest.ts';
import { openRouters } from './routers.ts';
import { serveOperation, type Serving } from './serve-operation.ts';
import { traceRequests } from './trace-requests.ts';
import { WAIT_FOR_LOG_MS, waitForLog } from '../http/wait-for-log.ts';

/** The settings of the edge: between the network and the routes. */
export interface Edge {
  /** The origins whose pages may call the API; `*` for all. */
  readonly corsOrigins: readonly string[];
  readonly clients: Pick<ClientAddresses, 'of'>;
  /** The setting. An address made from host and port is never https. */
  readonly publicUrl: string | undefined;
  readonly log: Pick<EventLog, 'connected' | 'onReconnect'>;
}

export interface AppOptions {
  /** The prefix of the API's own paths, such as `/api`. */
  readonly basePath: string;
  readonly routes: readonly Route[];
  readonly plainRoutes: readonly PlainRoute[];
  readonly serving: Serving;
  readonly edge: Edge;
  readonly failures: readonly KnownFailure[];
  readonly onResponse: NotedAnswers['onResponse'];
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Every path of the gateway. */
export const createApp = (options: AppOptions): Koa => {
  const { basePath, routes, plainRoutes, serving, edge, failures, logger } = options;
  const routers = openRouters(basePath);
  const withLog = onceAvailable(edge.log);
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
  app.use(measure(options));
  app.use(answerRefusals({ logger, headers: commonHeaders(edge.publicUrl), failures }));
  app.use(refuseUnreadableTargets);
  if (edge.corsOrigins.length > 0) app.use(cors(edge.corsOrigins, methodsOf(routers)));
  app.use(routers.serve);
  app.use(refuseTheRest(routers, options));
  return app;
};

const inRouterForm = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

const onceAvailable = (log: Edge['log']): Middleware => {
  const logAvailable = waitForLog(log, WAIT_FOR_LOG_MS);
  return async (_ctx, next) => {
    await logAvailable();
    await next();
  };
};

const measure = ({ onResponse, logger, clock, edge }: AppOptions): Middleware => {
  const note = noteAnswers({ onResponse, logger });
  return async (ctx, next) => {
    const began = clock();
    // The connection may be closed at the end.
    const client_ip = edge.clients.of(ctx.req);
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
