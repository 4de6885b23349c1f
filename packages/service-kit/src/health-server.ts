import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { within } from '@runledger/resilience/within';
import { messageOf } from '@runledger/resilience/errors';
import { type Logger, hideSecretsInText } from './logger.ts';
import { HEALTH_TOKEN_SETTING, namesToken } from './health-token.ts';
import { listen } from './listen.ts';
import type { Metrics } from './metrics.ts';
import { describeStop, stopReason } from './stop-requests.ts';

export type CheckOutcome =
  | { readonly ok: true; readonly note?: string }
  | { readonly ok: false; readonly why: string };
export type Check = () => CheckOutcome | Promise<CheckOutcome>;
/** By name. Each request reads the record, so a check may be added when its resource is open. */
export type Checks = Readonly<Record<string, Check>>;

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, CheckOutcome>>;
}

const CHECK_WITHIN_MS = 1_000;

/** Runs all checks, each within one second, and logs only changes since the last time. */
const readinessOf = (checks: Checks, logger: Logger): (() => Promise<Readiness>) => {
  // A check that hangs is not started again, so that probes do not pile up calls.
  const running = new Map<string, Promise<CheckOutcome>>();
  const known = new Map<string, string>();

  const ask = (name: string, check: Check): Promise<CheckOutcome> => {
    const pending = running.get(name) ?? outcomeOf(check).finally(() => running.delete(name));
    running.set(name, pending);
    return within(CHECK_WITHIN_MS, pending, () => ({
      ok: false,
      why: `no answer within ${CHECK_WITHIN_MS} ms`,
    }));
  };

  const logChange = (name: string, outcome: CheckOutcome): void => {
    const state = outcome.ok ? 'ok' : outcome.why;
    const before = known.get(name);
    known.set(name, state);
    if (state === before) return;
    if (!outcome.ok) logger.warn({ check: name, why: outcome.why }, 'not ready');
    else if (before !== undefined) logger.info({ check: name }, 'ready again');
  };

  return async () => {
    const outcomes = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await ask(name, check)] as const),
    );
    for (const [name, outcome] of outcomes) logChange(name, outcome);
    return { ready: outcomes.every(([, outcome]) => outcome.ok), checks: Object.fromEntries(outcomes) };
  };
};

const outcomeOf = async (check: Check): Promise<CheckOutcome> => {
  try {
    return await check();
  } catch (error) {
    return { ok: false, why: messageOf(error) };
  }
};

export interface HealthOptions {
  readonly host: string;
  /** 0 takes a free one; see `url` of the server. */
  readonly port: number;
  /** Who names it may read the metrics, and the reasons of `/readyz`. Without one nobody may. */
  readonly token: string | undefined;
  readonly checks: Checks;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** After its abort the service is not ready. After an unhandled error it is not live either. */
  readonly stopping: AbortSignal;
}

export interface HealthServer extends AsyncDisposable {
  /** Without a slash at the end, for example `http://127.0.0.1:9090`. */
  readonly url: string;
  /** What `/readyz` says to who names the token. */
  readonly readiness: () => Promise<Readiness>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const MAX_CONNECTIONS = 100;
const REQUEST_WITHIN_MS = 5_000;

/**
 * Serves `/livez`, `/readyz` and `/metrics`. Any program of the machine may ask: without the token it learns whether the service is live
 * and which checks fail. Open it first, so that it answers probes during a slow start and until the stop is over.
 * @throws Error if it cannot listen on the port
 */
export const openHealthServer = async (options: HealthOptions): Promise<HealthServer> => {
  const { host, port, logger } = options;
  const readiness = readinessUntilStop(options);
  const pages = pagesOf(options, readiness);
  const server = createServer((request, response) => {
    void respond(pages, logger, request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_WITHIN_MS;
  server.headersTimeout = REQUEST_WITHIN_MS;
  const url = await listen(server, { name: 'the health server', host, port, setting: 'port' });
  server.on('error', (err) => logger.error({ err }, 'the health server reported an error'));
  return {
    url,
    readiness,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      // It stops last, and a probe needs no answer any more.
      server.closeAllConnections();
      await closed;
    },
  };
};

/** Gets the header `Authorization` of the request. */
type Page = (authorization: string | undefined) => Answer | Promise<Answer>;
type Pages = ReadonlyMap<string, Page>;

const readinessUntilStop = ({ checks, logger, stopping }: HealthOptions): HealthServer['readiness'] => {
  const readiness = readinessOf(checks, logger);
  return async () => {
    // The checks do not run any more, because their resources are being closed.
    if (stopping.aborted) {
      const reason = stopReason(stopping);
      const why = reason === undefined ? 'the service is stopping' : describeStop(reason);
      return { ready: false, checks: { stopping: { ok: false, why } } };
    }
    const { ready, checks: outcomes } = await readiness();
    return { ready, checks: Object.fromEntries(Object.entries(outcomes).map(withoutSecrets)) };
  };
};

const withoutSecrets = ([name, outcome]: [string, CheckOutcome]): [string, CheckOutcome] => [
  name,
  outcome.ok
    ? { ...outcome, ...(outcome.note !== undefined && { note: hideSecretsInText(outcome.note) }) }
    : { ...outcome, why: hideSecretsInText(outcome.why) },
];

const pagesOf = ({ metrics, stopping, token }: HealthOptions, readiness: HealthServer['readiness']): Pages =>
  new Map<string, Page>([
    [
      '/livez',
      () => {
        const hasFailed = stopReason(stopping)?.kind === 'fatal';
        return json(hasFailed ? 503 : 200, { live: !hasFailed });
      },
    ],
    [
      '/readyz',
      async (authorization) => {
        const outcomes = await readiness();
        const mayKnow = token !== undefined && namesToken(authorization, token);
        return json(outcomes.ready ? 200 : 503, mayKnow ? outcomes : withoutReasons(outcomes));
      },
    ],
    [
      '/metrics',
      async (authorization) =>
        refusal(authorization, token) ?? {
          status: 200,
          type: metrics.contentType,
          body: await metrics.metrics(),
        },
    ],
  ]);

/** A reason may name a broker, an executor or whatever an error says. */
const withoutReasons = ({ ready, checks }: Readiness): object => ({
  ready,
  checks: Object.fromEntries(Object.entries(checks).map(([name, { ok }]) => [name, { ok }])),
  details: `shown with the token of ${HEALTH_TOKEN_SETTING}, as the header "Authorization: Bearer TOKEN"`,
});

/** Why the metrics are not shown; undefined if they are. */
const refusal = (authorization: string | undefined, token: string | undefined): Answer | undefined => {
  if (token === undefined)
    return json(403, {
      error:
        `${HEALTH_TOKEN_SETTING} of this service is not set, so nobody may read its metrics: any program that reaches this port could. ` +
        'Set it to the output of "openssl rand -hex 32", and send it as the header "Authorization: Bearer TOKEN".',
    });
  if (namesToken(authorization, token)) return undefined;
  const wrong = authorization === undefined ? 'The header is missing' : 'The header names another token';
  return {
    ...json(401, {
      error: `${wrong}: send the token of ${HEALTH_TOKEN_SETTING} as "Authorization: Bearer TOKEN".`,
    }),
    headers: { 'www-authenticate': 'Bearer realm="the health server"' },
  };
};

const respond = async (
  pages: Pages,
  logger: Logger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const page = pages.get((request.url ?? '/').split('?', 1)[0] ?? '/');
  if (page === undefined) {
    const paths = [...pages.keys()].join(', ');
    return send(request, response, json(404, { error: `no such page; the pages are ${paths}` }));
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD').setHeader('connection', 'close');
    return send(request, response, json(405, { error: 'only GET and HEAD are allowed' }));
  }
  try {
    send(request, response, await page(request.headers.authorization));
  } catch (err) {
    logger.error({ err, path: request.url }, 'a health page failed');
    send(request, response, json(500, { error: 'the page failed; the log of the service says why' }));
  }
};

const send = (
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body, headers }: Answer,
): void => {
  response.writeHead(status, {
    ...headers,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
};

const json = (status: number, value: unknown): Answer => ({
  status,
  type: 'application/json; charset=utf-8',
  body: `${JSON.stringify(value)}\n`,
});
