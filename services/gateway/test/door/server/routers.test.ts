import { Router } from '@koa/router';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openRouters } from '../../../src/door/app.ts';

const BASE_PATHS = ['', '/api', '/a/b'];
const OF_API = ['/run/:run_id', '/run/deployment/queue', '/runs', '/files/:id/content', '/files'];
const BESIDE = ['/', '/console', '/console/{*path}', '/outputs/:key/:filename', '/api-docs', '/run'];

const routesAt = (base: string): string[] => [...OF_API.map((path) => `${base}${path}`), ...BESIDE];

const serve = async (): Promise<void> => undefined;

const segment = fc.constantFrom(
  'run',
  'runs',
  'files',
  'console',
  'outputs',
  'api',
  'a',
  'b',
  '%72un',
  'Run',
  '1',
  '',
);

describe('routers by the beginning of a path', () => {
  it.each(BASE_PATHS)('find what one router with all routes finds, below "%s"', (base) => {
    const one = new Router({ sensitive: true, strict: true });
    const divided = openRouters(base);
    for (const path of routesAt(base)) {
      one.register(path, ['GET'], serve);
      divided.register(path, 'GET', [serve]);
    }
    fc.assert(
      fc.property(
        fc.constantFrom('', base),
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        (from, names) => {
          const path = `${from}/${names.join('/')}`;
          expect(divided.at(path).map((route) => route.path)).toEqual(
            one.match(path, 'GET').path.map((route) => route.path),
          );
        },
      ),
      { numRuns: 500, examples: routesAt(base).map((path) => ['', path.slice(1).split('/')]) },
    );
  });

  it.each(['/:org_id/runs', '/api/{run_id}', '/{*path}'])(
    'refuse %s, which other beginnings match',
    (path) => {
      expect(() => openRouters('/api').register(path, 'GET', [serve])).toThrow(RangeError);
    },
  );
});
