import { Router, type Layer, type RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';

export interface Routers {
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
