import { Router } from '@koa/router';
import { openEventLog, type EventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import Koa from 'koa';
import { authenticate } from '../../src/keys/api-keys.ts';
import { answerProblems } from '../../src/http/answer-problems.ts';
import { callers } from '../../src/http/callers.ts';
import { eventsRoute } from '../../src/http/events-route.ts';
import { openHttpServer } from '../../src/http/http-server.ts';
import { jsonBody } from '../../src/http/json-body.ts';
import { serveOperation } from '../../src/http/serve-operation.ts';
import { currentRun } from '../../src/runs/current-run.ts';
import { findView } from '../../src/runs/find-view.ts';
import { shownWebhooks } from '../../src/runs/shown-webhooks.ts';
import { memoryRunViews } from '../../src/views/memory-run-views.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { keyWatch } from '../../src/watching/key-watch.ts';
import { openRunWatching, type RunWatching } from '../../src/watching/run-watching.ts';

/** The streams of a gateway, and nothing else of it. */
export interface StreamingGateway extends AsyncDisposable {
  readonly log: EventLog;
  readonly watching: RunWatching;
  eventsOf(run: { readonly run_id: string }): string;
}

export interface StreamingOptions {
  readonly views?: RunViews;
  readonly mostWatchers?: number;
}

const clock = (): number => performance.now();

export const aStreamingGateway = async (
  nats: { readonly url: string },
  { views = memoryRunViews(), mostWatchers = 100 }: StreamingOptions = {},
): Promise<StreamingGateway> => {
  await using opened = new AsyncDisposableStack();
  const log = opened.use(await openEventLog({ url: nats.url, name: 'gateway' }, silentLogger));
  const logger = silentLogger;
  const publicUrl = (): string => 'https://runs.example';
  const current = currentRun({
    log,
    find: findView({ views, logger, clock }),
    shown: shownWebhooks(),
    logger,
  });
  const watching = opened.use(openRunWatching({ log, current, publicUrl, mostWatchers, logger, clock }));
  const ask = (key: string) => authenticate(log, key);
  const keys = opened.use(keyWatch({ authenticate: ask, logger }));
  const route = eventsRoute({ current, watching, keys });
  const app = new Koa();
  // Clients that go away; Koa would print it.
  app.on('error', () => undefined);
  const router = new Router();
  const serving = { callers: callers(ask, async () => undefined), body: jsonBody(1024) };
  router.get('/run/:run_id/events', serveOperation(route, serving));
  app.use(answerProblems(logger)).use(router.routes());
  const server = opened.use(await openHttpServer(app, { host: '127.0.0.1', port: 0, finishWithinMs: 500 }));
  // First of all, as when the service stops.
  opened.defer(() => watching.stop());
  const kept = opened.move();
  return {
    log,
    watching,
    eventsOf: ({ run_id }) => `${server.url}/run/${run_id}/events`,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
