import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestName, nearestPath } from '../../src/door/nearest-name.ts';

describe('the nearest name', () => {
  const known = ['status', 'deployment_id', 'limit', 'cursor', 'gpu'];
  it.each([
    ['stauts', 'status'],
    ['Status', 'status'],
    ['statu', 'status'],
    ['deploymentid', 'deployment_id'],
    ['deploymnet_ids', 'deployment_id'],
    ['gpus', 'gpu'],
    ['page', undefined],
    ['', undefined],
    ['l', undefined],
    ['status'.repeat(1_000), undefined],
  ])('of %s is %s', (name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it('is the name itself when it is known, and otherwise none or one that is known', () =>
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 64 }), { minLength: 1 }),
        fc.nat(),
        (names, at) => {
          const name = names[at % names.length] ?? '';
          expect(nearestName(name, names)?.toLowerCase()).toBe(name.toLowerCase());
          expect([undefined, ...names]).toContain(nearestName(`${name}x`, names));
        },
      ),
    ));
});

describe('the nearest path', () => {
  const known = [
    { method: 'GET', path: '/api/runs' },
    { method: 'GET', path: '/api/run/{run_id}' },
    { method: 'DELETE', path: '/api/run/{run_id}' },
    { method: 'POST', path: '/api/run/{run_id}/cancel' },
    { method: 'POST', path: '/api/machines' },
  ];
  it.each([
    ['GET', '/api/rnus', 'GET /api/runs'],
    ['GET', '/runs', 'GET /api/runs'],
    ['GET', '/api/runs/', 'GET /api/runs'],
    ['DELETE', '/api/RUN/x', 'DELETE /api/run/{run_id}'],
    ['POST', '/api/runn/x/cancle', 'POST /api/run/{run_id}/cancel'],
    ['GET', '/api/machine', 'POST /api/machines'],
    ['GET', '/', undefined],
    ['GET', '/api', undefined],
    ['GET', '/api/a/b/c/d', undefined],
  ])('of %s %s is %s', (method, path, expected) => {
    const nearest = nearestPath({ method, path }, { known, basePath: '/api' });
    expect(nearest && `${nearest.method} ${nearest.path}`).toBe(expected);
  });
});
