import { assigned, expired, queued, started } from '@runledger/testing/run-events';
import { webhookGivenUp } from '@runledger/testing/webhook-events';
import { describe, expect, it } from 'vitest';
import { acceptedRuns } from '../../src/checks/accepted-runs.ts';
import { expiry } from '../../src/checks/expiry.ts';
import type { LimitChange } from '../../src/faults/limit-changes.ts';
import { aSoak, EVENTS, INPUTS, RUN, second, type stored } from '../fixtures/a-soak.ts';

const SIZE = { cancelEnforceS: 8, heartbeatPeriodS: 3, shortLogAgeMs: 3_000 };
/** Stored in the seconds 1 to 4. */
const EXPIRED = [queued(RUN, { inputs: INPUTS }), assigned(RUN), started(RUN), expired(RUN)];
const forgets = (from: number, to: number): LimitChange[] => [
  { store: 'RUNS', kind: 'forgetful', from: second(from), to: second(to), lost: 1, hadEffect: true },
];
const soaked = (
  limits: readonly LimitChange[],
  events: Parameters<typeof stored>[0] = EXPIRED,
  shortLogAgeMs = 3_000,
) => aSoak({ events, limits, size: { ...SIZE, shortLogAgeMs } });

describe('a run that ends as log_expired', () => {
  it('is right when the log forgot its beginning', () => {
    const soak = soaked(forgets(2, 6));
    expect([...expiry(soak), ...acceptedRuns(soak)]).toEqual([]);
  });

  it('is a violation when the log forgot nothing, or only later', () => {
    for (const limits of [[], forgets(4.5, 6)])
      expect(expiry(soaked(limits))).toMatchObject([
        { run: RUN.run_id, message: expect.stringMatching(/^It ended as log_expired/) },
      ]);
  });

  it('is a violation when the run was younger than the log', () => {
    expect(expiry(soaked(forgets(2, 6), EXPIRED, 30_000))).toHaveLength(1);
  });
});

describe('a delivery that ends as log_expired', () => {
  const events = [...EVENTS.slice(0, 4), webhookGivenUp(RUN, 1, { reason: 'log_expired' })];

  it('is right only when the log forgot the beginning of its run', () => {
    expect(expiry(soaked(forgets(2, 6), events))).toEqual([]);
    expect(expiry(soaked([], events))).toMatchObject([
      { message: expect.stringMatching(/^Its delivery ended as log_expired/) },
    ]);
  });
});
