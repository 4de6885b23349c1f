import type { Middleware } from 'koa';
import { noSuchPath } from '../names/no-such-path.ts';
import type { Route } from '../http/operation.ts';
import { Refused } from '../http/refusal.ts';
import { nearestPath } from '../names/nearest-path.ts';
import type { MethodsAt } from './cors.ts';
import type { Routers } from './routers.ts';

/** No route matched: the path is unknown, or it has other methods. The refusal says which, or the nearest path. */
export const refuseTheRest = (
  routers: Pick<Routers, 'at'>,
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

export const methodsOf =
  ({ at }: Pick<Routers, 'at'>): MethodsAt =>
  (path) =>
    [...new Set(at(path).flatMap(({ methods }) => methods))].sort();

/** As the API documents it: `/api/run/{run_id}`. */
const patternAt = ({ at }: Pick<Routers, 'at'>, path: string): string =>
  String(at(path)[0]?.path ?? '').replaceAll(/:(\w+)/g, '{$1}');
