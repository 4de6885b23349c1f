import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { list } from '@runledger/service-kit/config-schemas';
import { compile, all } from 'proxy-addr';
import { Type } from 'typebox';
import type { Logger } from '@runledger/event-log/connect/observability';
import { IGNORED_MEMBERS_HEADER, WARNING_HEADER } from '@runledger/contracts/http/headers';
import koaCors from '@koa/cors';
import type { Context, Middleware } from 'koa';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { Refused } from './refusal.ts';

const MAX_ENTRIES = 1_024;

/** An origin as browsers write it: the scheme, the host in lower case, and the port unless it is the scheme's own. */
const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  // A host with a star would be read as a name that no page has.
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && !text.includes('*');
};

const RANGES: ReadonlySet<string> = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** Stricter than the library, which reads `10` as 0.0.0.10. The library refuses a network of all addresses, such as 0.0.0.0/0. */
const isProxy = (text: string): boolean => {
  if (RANGES.has(text)) return true;
  if (isIP(text.split('/', 1)[0] ?? '') === 0) return false;
  try {
    compile(text);
    return true;
  } catch {
    return false;
  }
};

/** The environment variables of the edge: to spread into the configuration schema. */
export const edgeConfig = {
  RUNLEDGER_CORS_ORIGINS: list(
    Type.Refine(
      Type.String({ maxLength: 300 }),
      (text) => text === '*' || isOrigin(text),
      () => 'is neither * nor an exact origin: no path, no slash at the end, no capitals, no port 80 or 443',
    ),
    {
      default: [],
      maxItems: MAX_ENTRIES,
      description:
        'the origins whose pages may call the API from a browser, for example https://app.example.com; * for all; empty for none',
    },
  ),
  RUNLEDGER_TRUSTED_PROXIES: list(
    Type.Refine(
      Type.String({ maxLength: 100 }),
      isProxy,
      () => 'is neither an IP address, nor a network, nor loopback, linklocal or uniquelocal',
    ),
    {
      default: [],
      maxItems: MAX_ENTRIES,
      description:
        'the proxies whose X-Forwarded-For is trusted for the address of a client, in the log and as the last use of its key, for example loopback, 10.0.0.5, 10.1.0.0/16; empty for none',
    },
  ),
};

export interface ClientAddresses {
  /** The address of the client; undefined when the connection is closed already. */
  readonly of: (req: IncomingMessage) => string | undefined;
  /** The first host that sent `X-Forwarded-For` and is no trusted proxy; undefined while none did. */
  readonly untrusted: () => string | undefined;
}

/**
 * Reads `X-Forwarded-For` from its end, while the writer of the next address is a trusted proxy: an untrusted host may
 * have written anything before its own address. Reading also ends at a text that is not an address. That an untrusted host sent the
 * header is logged once: if it is a proxy after all, all its clients count as one.
 */
export const clientAddresses = (trustedProxies: readonly string[], logger: Logger): ClientAddresses => {
  const isTrusted = compile([...trustedProxies]);
  let untrusted: string | undefined;
  const noteUntrusted = (address: string): void => {
    if (untrusted !== undefined || isTrusted(address, 0)) return;
    untrusted = plain(address);
    logger.warn(
      { proxy: untrusted },
      'X-Forwarded-For came from a host that is no trusted proxy, so it is ignored: all who come through it count as one client, whose sign-ins are limited together. If it is your proxy, name it in RUNLEDGER_TRUSTED_PROXIES; if not, a client tried to hide its address. This is logged once',
    );
  };
  return {
    of: (req) => {
      const { remoteAddress } = req.socket;
      if (remoteAddress === undefined) return undefined;
      if (req.headers['x-forwarded-for'] === undefined) return plain(remoteAddress);
      noteUntrusted(remoteAddress);
      const hops = all(req, (hop, index) => isIP(hop) !== 0 && isTrusted(hop, index));
      const last = hops.findLast((hop) => isIP(hop) !== 0);
      return last === undefined ? undefined : plain(last);
    },
    untrusted: () => untrusted,
  };
};

/** An IPv4 address as such, also on a socket of both families; without the name of an interface. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');

/** The methods of a path; none when the path is unknown. */
type MethodsAt = (path: string) => readonly string[];

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'Range',
  'Tus-Resumable',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Offset',
  'X-Request-Id',
  'traceparent',
];
/** The response headers that a page may read. */
const EXPOSED_HEADERS = [
  'API-Version',
  'X-Request-Id',
  'ETag',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  IGNORED_MEMBERS_HEADER,
  WARNING_HEADER,
  'Location',
  'Tus-Resumable',
  'Upload-Expires',
  'Upload-Length',
  'Upload-Offset',
];
/** The longest time that Chrome caches a preflight. */
const PREFLIGHT_KEPT_S = 7_200;

/**
 * Lets pages of these origins call the API; `*` is all of them. Never with credentials: a key travels in `Authorization`,
 * so a page can do only what its key allows. Responses to other origins do not mention CORS.
 */
export const cors = (origins: readonly string[], methodsAt: MethodsAt): Middleware => {
  const allowed = new Set(origins);
  const originFor = (ctx: Context): string => {
    if (allowed.has('*')) return '*';
    const origin = ctx.get('Origin');
    return allowed.has(origin) ? origin : '';
  };
  const allow = koaCors({
    origin: (ctx) => (isPreflight(ctx) && methodsAt(ctx.path).length === 0 ? '' : originFor(ctx)),
    // The methods of the path are set below.
    allowMethods: '',
    allowHeaders: ALLOWED_HEADERS,
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_KEPT_S,
    // The headers stay set when a refusal is thrown.
    keepHeadersOnError: false,
  });
  return async (ctx, next) => {
    // Otherwise a page that may read the response could not embed it.
    if (originFor(ctx) !== '') ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
    await allow(ctx, next);
    if (isPreflight(ctx) && ctx.status === 204) {
      ctx.set('Access-Control-Allow-Methods', methodsAt(ctx.path).join(', '));
    }
  };
};

const isPreflight = (ctx: Context): boolean =>
  ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '';

/** Resolves at once while the log is connected. @throws {Refused} with 503 when an outage lasts too long */
type WaitForLog = () => Promise<void>;

/** How long a request waits. */
export const WAIT_FOR_LOG_MS = 3_000;

/**
 * While the log is unavailable, a request waits here before it begins: a broker needs a second to restart. Once an outage
 * has lasted for `withinMs`, each request is refused at once, so that requests do not pile up.
 */
export const waitForLog = (log: EventLog, withinMs: number): WaitForLog => {
  /** Of the present outage: true once it is over, false when it has lasted too long. */
  let outage: Promise<boolean> | undefined;
  const begin = (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), withinMs).unref();
    const forget = log.onReconnect(() => {
      forget();
      clearTimeout(timer);
      outage = undefined;
      resolve(true);
    });
    return promise;
  };
  return async () => {
    if (log.connected() || (await (outage ??= begin()))) return;
    throw new Refused({
      code: 'log_unavailable',
      why: 'The log of runs cannot be reached now. Nothing was done; try again',
    });
  };
};
