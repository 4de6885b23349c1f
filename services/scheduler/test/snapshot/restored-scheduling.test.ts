import { casesOf } from '@runledger/testing/random/cases';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot, encodeSnapshot } from '../../src/snapshot/snapshot-codec.ts';
import { liveRunsOf } from '../../src/snapshot/snapshots.ts';
import { executor, passed } from '../core/steps.ts';
import { orgOf, TestBed, type RequestedRun } from '../core/test-bed.ts';
import { aScheduling, takeRuns, withoutRuns } from '../fixtures/snapshots.ts';

/** What a run may have that says when it starts. */
const WAITING: Readonly<Record<string, RequestedRun>> = {
  plain: {},
  urgent: { priority: 5 },
  limited: { deployment: 1, concurrencyLimit: 1 },
  'limited too': { deployment: 1, concurrencyLimit: 1 },
  keyless: { deployment: 2 },
  keyed: { deployment: 2, key: 'a' },
  'keyed too': { deployment: 2, key: 'a' },
  delayed: { delayS: 20 },
  'delayed, with a key': { deployment: 2, delayS: 9, key: 'b' },
  'another model': { gpu: 'H100', fallbacks: [{ gpu: 'A10G', after_s: 10 }] },
  patient: { version: 1, warmWaitS: 15 },
  'one of two models, with a key': { deployment: 4, key: 'c', fallbacks: [{ gpu: 'H100', after_s: 0 }] },
  'all of it': {
    deployment: 4,
    key: 'c',
    delayS: 3,
    version: 2,
    warmWaitS: 4,
    gpu: 'H100',
    fallbacks: [{ gpu: 'A10G', after_s: 5 }],
  },
  'another machine': { machine: 'other' },
  'short of time': { deployment: 3, startDeadlineS: 18 },
  'short of time too': { deployment: 3, startDeadlineS: 17 },
};

const withQueue = (requests: Readonly<Record<string, RequestedRun>> = WAITING): TestBed => {
  const bed = new TestBed();
  for (const [name, request] of Object.entries(requests)) bed.queue(name, request);
  return bed;
};

/** Its scheduler by one that is restored from a snapshot of its runs. */
const restart = async (bed: TestBed): Promise<void> => {
  const { kept, ...rows } = bed.scheduling.freeze();
  const drains = { created: '2026-01-01T00:00:00.000Z', names: [] };
  const bytes = encodeSnapshot(withoutRuns({ drains, ...rows, runs: kept }));
  const decoded = await decodeSnapshot(Readable.from(bytes));
  if (decoded.kind !== 'decoded') throw new Error(decoded.why);
  bed.scheduling = aScheduling();
  bed.scheduling.restore(decoded.rows);
  takeRuns(bed.scheduling, decoded.runs);
};

const inOrder = ({ scheduling }: TestBed) =>
  liveRunsOf(scheduling).toSorted((one, other) => one.run.number - other.run.number);

/** Of what follows when executors come, and time passes: decision after decision, in words. */
const story = (bed: TestBed): string[] => {
  const lines: string[] = [];
  bed.onDecided = (_input, decisions) => {
    for (const decision of decisions) {
      const what = decision.type === 'declare_lost' ? decision.executor : bed.nameOf(decision.key);
      lines.push(`${decision.type} ${what}`);
    }
  };
  bed.lead();
  executor('box', { gpus: ['A10G'] })(bed);
  for (let round = 0; round < 24; round += 1) {
    bed.settleAll();
    const executing = [...bed.histories.keys()].filter((name) => bed.run(name)?.status === 'started');
    // Its key holds it back.
    if (executing.includes('keyed')) bed.requestCancel('keyed too');
    for (const name of executing) {
      bed.start(name);
      bed.succeed(name);
    }
    bed.settleAll();
    passed(2_000, 'box')(bed);
  }
  return lines;
};

describe('a scheduler that is restored from a snapshot', () => {
  it('knows the same runs, and decides as one that has read the log', async () => {
    const [read, restored] = [withQueue(), withQueue()];
    const { kept, rowCount } = restored.scheduling.freeze();
    expect([kept, rowCount]).toEqual([[], Object.keys(WAITING).length]);
    await restart(restored);
    expect(inOrder(restored)).toEqual(inOrder(read));
    const told = story(read);
    // All but the cancelled one.
    expect(told).toHaveLength(Object.keys(WAITING).length - 1);
    expect(story(restored)).toEqual(told);
    // Nothing is counted that is gone.
    const { pools } = restored.scheduling.queries.pools({ org_id: null, gpu: null, after: null, limit: 10 });
    expect(pools).toMatchObject([{ gpu: 'A10G', waiting: 0, running: 0, organisations: [] }]);
  });

  it('decides so for any queue, wherever its runs are in the table', async () => {
    const variant = fc.constantFrom(...Object.values(WAITING));
    const request = fc
      .tuple(variant, fc.nat({ max: 2 }), fc.nat({ max: 2 }))
      .map(([own, org, deployment]): RequestedRun => ({ ...own, org: orgOf(org), deployment }));
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 40 }),
        fc.array(request, { minLength: 1, maxLength: 40, size: 'max' }),
        async (ended, requests) => {
          const [read, restored] = [new TestBed(), new TestBed()];
          for (const bed of [read, restored]) {
            // Their rows are free, the last one first.
            for (let n = 0; n < ended; n += 1) bed.queue(`ended ${n}`);
            for (let n = 0; n < ended; n += 1) bed.requestCancel(`ended ${n}`);
            bed.settleAll();
            for (const [n, one] of requests.entries()) {
              // Of runs that may start at the same moment, any one is first.
              bed.nowMs += 1;
              bed.queue(`run ${n}`, one);
            }
          }
          await restart(restored);
          expect(inOrder(restored)).toEqual(inOrder(read));
          expect(story(restored)).toEqual(story(read));
        },
      ),
      { numRuns: casesOf(20) },
    );
  });
});
