import { Router, type RouterMiddleware } from '@koa/router';
import type { Middleware } from 'koa';

/** What is served at a path. */
export interface Place {
  /** As it was registered: `/api/run/:run_id`. */
  readonly pattern: string;
  /** Sorted. What is read can be asked for its headers only. */
  readonly methods: readonly string[];
}

export interface Paths {
  /** `path` is in the syntax of the router. @throws {RangeError} when its beginning is not fixed */
  readonly register: (path: string, method: string, serve: Middleware) => void;
  /** Goes on where nothing is served at the path with this method. */
  readonly serve: RouterMiddleware;
  /** Whatever the method. */
  readonly at: (path: string) => Place | undefined;
}

interface Routes {
  readonly router: Router;
  readonly serve: RouterMiddleware;
}

/**
 * A router tries all its routes in turn for each request, and the API has more than a hundred. So each path without parameters has a router
 * of its own, which also says that `/invitations/accept` is no invitation with the id `accept`; the others are divided by their beginning
 * and by how many parts they have: `/api/run` with three is `/api/run/:run_id`. A pattern that takes the rest of a path is alone with its beginning.
 */
export const openPaths = (basePath: string): Paths => {
  const named = new Map<string, Routes>();
  const patterns = new Map<string, Routes>();
  const beginningOf = (path: string): string => {
    const ends = path.indexOf('/', path.startsWith(`${basePath}/`) ? basePath.length + 1 : 1);
    return ends === -1 ? path : path.slice(0, ends);
  };
  const keyOf = (path: string): string => `${path.split('/').length} ${beginningOf(path)}`;
  const routesOf = (path: string): Routes | undefined =>
    named.get(path) ?? patterns.get(keyOf(path)) ?? patterns.get(beginningOf(path));
  return {
    register: (path, method, serve) => {
      const [kind, key] = FIXED.test(path)
        ? [named, path]
        : [patterns, path.includes('*') ? beginningOf(path) : keyOf(path)];
      if (!FIXED.test(beginningOf(path)))
        throw new RangeError(`the path ${path} has to begin with a fixed name`);
      const routes = kind.get(key) ?? openRoutes();
      kind.set(key, routes);
      routes.router.register(path, [method], serve);
    },
    serve: (ctx, next) => routesOf(ctx.path)?.serve(ctx, next) ?? next(),
    at: (path) => {
      const routes = routesOf(path)?.router.match(path, 'OPTIONS').path ?? [];
      const [first] = routes;
      if (!first) return undefined;
      const methods = new Set(routes.flatMap((route) => route.methods));
      return { pattern: String(first.path), methods: [...methods].sort() };
    },
  };
};

const FIXED = /^[\w./~-]+$/;

const openRoutes = (): Routes => {
  const router = new Router({ sensitive: true, strict: true });
  return { router, serve: router.routes() };
};
