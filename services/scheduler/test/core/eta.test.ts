import type { WaitReason } from '@runledger/contracts/requests/queue-position';
import { describe, expect, it } from 'vitest';
import { executor, loaded } from './steps.ts';
import { orgOf, TestBed, type OrgShares, type RequestedRun } from './test-bed.ts';

const LIMITED: OrgShares = new Map([[orgOf(1), { limit: 1 }]]);

/** Two slots; so many runs have taken a minute each. Two more have just begun. */
const bedAfter = (runs: number, shares?: OrgShares): TestBed => {
  const bed = new TestBed(shares);
  bed.lead();
  executor('box', { gpus: ['A10G', 'A10G'] })(bed);
  const execute = (name: string): void => {
    bed.queue(name);
    bed.settleAll();
  };
  for (let n = 0; n < runs; n += 1) {
    execute(`past ${n}`);
    bed.start(`past ${n}`);
    bed.tickAfter(60_000);
    bed.heartbeat('box', bed.listed('box'));
    bed.succeed(`past ${n}`);
  }
  bed.tickAfter(0);
  for (const name of ['present', 'present too']) execute(name);
  return bed;
};

const waitOf = (bed: TestBed, run: RequestedRun = {}): WaitReason | undefined => {
  bed.queue('waiting', run);
  bed.settleAll();
  return bed.scheduling.queries.waitReason(bed.key('waiting'));
};

const etaInS = (bed: TestBed, wait: WaitReason | undefined): Record<string, number> =>
  Object.fromEntries(
    Object.entries(wait?.eta ?? {}).map(([name, time]) => [name, (Date.parse(time) - bed.nowMs) / 1_000]),
  );

const between = (least: number, most: number): unknown =>
  expect.toSatisfy((seconds: number) => seconds > least && seconds < most);

describe('when a run starts', () => {
  it('follows from how long runs took, and moves on as time passes', () => {
    const bed = bedAfter(20);
    const eta = waitOf(bed)?.eta;
    const inS = (time = ''): number => (Date.parse(time) - bed.nowMs) / 1_000;
    expect(inS(eta?.expected)).toBeGreaterThan(50);
    expect(inS(eta?.expected)).toBeLessThan(70);
    expect(inS(eta?.earliest)).toBeLessThan(inS(eta?.expected));
    expect(inS(eta?.latest)).toBeGreaterThan(inS(eta?.expected));
    bed.tickAfter(2_000);
    const later = bed.scheduling.queries.waitReason(bed.key('waiting'))?.eta;
    expect(inS(later?.expected)).toBeLessThan(inS(eta?.expected) + 1);
  });

  it('is later for a run with more ahead', () => {
    const bed = bedAfter(20);
    for (let n = 0; n < 4; n += 1) bed.queue(`ahead ${n}`);
    const wait = waitOf(bed);
    const inS = (Date.parse(wait?.eta?.expected ?? '') - bed.nowMs) / 1_000;
    expect(wait?.ahead).toBe(4);
    expect(inS).toBeGreaterThan(150);
    expect(inS).toBeLessThan(210);
  });

  it.each<[string, TestBed, RequestedRun]>([
    ['of its deployment', bedAfter(20), { deployment: 1, concurrencyLimit: 1 }],
    ['of its concurrency key', bedAfter(20), { key: 'a' }],
    ['of its organisation', bedAfter(20, LIMITED), { org: orgOf(1) }],
  ])('follows from the run that holds the only slot %s, while others are free', (_what, bed, run) => {
    executor('den', { gpus: ['A10G', 'A10G'] })(bed);
    bed.queue('only', run);
    bed.settleAll();
    bed.start('only');
    bed.tickAfter(30_000);
    expect(etaInS(bed, waitOf(bed, run))).toMatchObject({ expected: between(25, 35) });
    bed.queue('last', run);
    const last = bed.scheduling.queries.waitReason(bed.key('last'));
    expect(etaInS(bed, last)).toMatchObject({ expected: between(80, 100) });
  });

  it.each([
    [600, { expected: between(25, 35) }],
    [10, { expected: between(9, 11), latest: between(9, 11) }],
  ])('follows from the busy slot with its version, and from its warm wait of %i s', (warmWaitS, eta) => {
    const bed = bedAfter(20);
    bed.start('present');
    loaded('box', 1, null)(bed);
    executor('den')(bed);
    bed.tickAfter(30_000);
    const wait = waitOf(bed, { version: 1, warmWaitS });
    expect(wait).toMatchObject({ capacity: 'warm', no_eta: null });
    expect(etaInS(bed, wait)).toMatchObject(eta);
  });

  it.each<[string, TestBed, RequestedRun, WaitReason['no_eta']]>([
    ['no run has ended', bedAfter(0), {}, 'no_durations'],
    ['two runs have ended', bedAfter(2), {}, 'no_durations'],
    ['no executor can take it', bedAfter(20), { gpu: 'H100' }, 'not_busy'],
  ])('is unknown when %s', (_why, bed, run, no_eta) =>
    expect(waitOf(bed, run)).toMatchObject({ eta: null, no_eta }),
  );

  it('is known after a takeover from a snapshot', () => {
    const bed = bedAfter(20);
    const other = new TestBed();
    other.take({ type: 'durations', records: bed.scheduling.durations() });
    expect(other.scheduling.durations()).toEqual(bed.scheduling.durations());
    expect(other.scheduling.durations()).toHaveLength(3);
  });
});
