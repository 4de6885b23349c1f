import { describe, expect, it } from 'vitest';
import { refusals } from '../../src/checks/refusals.ts';
import type { Exchange } from '../../src/clients/client-records.ts';
import type { LimitChange } from '../../src/faults/limit-changes.ts';
import { aSoak, exchange, second } from '../fixtures/a-soak.ts';

const ROOM = '{"detail":"The log of runs has no room for a new run and what it may write later"}';
const BLOBS = '{"detail":"The store of large inputs is full, so nothing was queued"}';
const QUOTA = '{"detail":"The organisation has reached its limit of queued runs"}';
const OUTLIVES = '{"detail":"Nothing was queued: A run of this deployment could live 9 s"}';

const refused = (
  status: number,
  why: string,
  { limits = [], kind = 'queue' }: { limits?: readonly LimitChange[]; kind?: Exchange['kind'] } = {},
) =>
  refusals(
    aSoak({ limits, records: { exchanges: [exchange(20, { kind: 'refused', status, why }, { kind })] } }),
  );
const limited = (kind: LimitChange['kind'], store: LimitChange['store'], from = 10): LimitChange[] => [
  { kind, store, from: second(from), to: second(from + 12), lost: 0, hadEffect: true },
];

describe('a refusal', () => {
  it('with 503 or 404 needs no explanation', () => {
    expect([
      ...refused(503, 'The log of runs cannot be reached now'),
      ...refused(404, 'Run not found'),
    ]).toEqual([]);
  });

  it('of a valid request with another status is a violation', () => {
    for (const status of [400, 401, 409, 422, 500]) expect(refused(status, 'x')).toHaveLength(1);
  });

  it('of another request with a key that is taken is right', () => {
    expect(refused(409, 'x', { kind: 'queue_other' })).toEqual([]);
  });

  it('behind a deletion may be an answer, which is judged elsewhere', () => {
    const kind = 'after_deletion';
    expect(refused(200, 'unknown answer: {}', { kind })).toEqual([]);
    expect(refused(401, 'x', { kind })).toHaveLength(1);
  });

  it('for lack of room is right only while that store is full', () => {
    for (const [status, why, store] of [
      [503, ROOM, 'RUNS'],
      [507, BLOBS, 'BLOBS'],
    ] as const) {
      expect(refused(status, why)).toHaveLength(1);
      expect(refused(status, why, { limits: limited('full', store) })).toEqual([]);
      expect(refused(status, why, { limits: limited('full', 'TIMERS') })).toHaveLength(1);
      expect(refused(status, why, { limits: limited('full', store, 30) })).toHaveLength(1);
    }
    expect(refused(503, ROOM, { limits: limited('nearly_full', 'RUNS') })).toEqual([]);
  });

  it('for the age of the log is right only while the log forgets', () => {
    expect(refused(409, OUTLIVES)).toHaveLength(1);
    expect(refused(409, OUTLIVES, { limits: limited('forgetful', 'RUNS') })).toEqual([]);
  });

  it('of a redelivery is right only for a run that the log has forgotten', () => {
    const kind = 'redeliver';
    expect(refused(409, 'x', { kind })).toHaveLength(1);
    expect(refused(409, 'x', { kind, limits: limited('forgetful', 'RUNS', 100) })).toEqual([]);
    expect(refused(409, 'x', { kind, limits: limited('forgetful', 'RUNS', 10) })).toHaveLength(1);
  });

  it('for a quota never reaches an organisation that stays below it', () => {
    expect(refused(429, QUOTA, { limits: limited('full', 'RUNS') })).toHaveLength(1);
  });
});
