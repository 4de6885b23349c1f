import { IGNORED_MEMBERS_HEADER } from '@runledger/contracts/http/ignored-members';
import { WARNING_HEADER } from '@runledger/contracts/http/headers/warning';
import koaCors from '@koa/cors';
import type { Context, Middleware } from 'koa';

/** The methods of a path; none when the path is unknown. */
export type MethodsAt = (path: string) => readonly string[];

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
