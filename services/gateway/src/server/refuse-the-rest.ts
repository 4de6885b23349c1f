import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { noSuchPath } from '../names/no-such-path.ts';
import type { Route } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { nearestPath } from '../names/nearest-path.ts';
import type { MethodsAt } from './cors.ts';

/** No route matched: the path is unknown, or it has other methods. The refusal says which, or the nearest path. */
export const refuseTheRest = (
  router: Router,
  { basePath, routes }: { readonly basePath: string; readonly routes: readonly Route[] },
): Middleware => {
  const methodsAt = methodsOf(router);
  const known = routes.map(({ operation: { method, path } }) => ({ method, path: `${basePath}${path}` }));
  const all = `${basePath}/docs lists all operations.`;
  return async (ctx) => {
    const { method, path } = ctx;
    const allowed = methodsAt(path).join(', ');
    if (allowed !== '') {
      const why = `${method} is not allowed on ${patternAt(router, path)}. Allowed: ${allowed}.`;
      throw new Refused({ code: 'method_not_allowed', why, headers: { Allow: allowed } });
    }
    const nearest = nearestPath({ method, path }, { known, basePath });
    throw noSuchPath(ctx, nearest ? `Did you mean ${nearest.method} ${nearest.path}? ${all}` : all);
  };
};

export const methodsOf =
  (router: Router): MethodsAt =>
  (path) =>
    [...new Set(matched(router, path).flatMap(({ methods }) => methods))].sort();

const matched = (router: Router, path: string) => router.match(path, 'OPTIONS').path;

/** As the API documents it: `/api/run/{run_id}`. */
const patternAt = (router: Router, path: string): string =>
  String(matched(router, path)[0]?.path ?? '').replaceAll(/:(\w+)/g, '{$1}');
