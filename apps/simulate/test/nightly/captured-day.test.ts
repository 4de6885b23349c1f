import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createOrganisation, type CreatedOrganisation } from '@runledger/standalone/create-organisation';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldDay, type CapturedDay } from '../../src/what-if/captured-day.ts';
import type { Changes } from '../../src/what-if/changes.ts';
import { outcomeOf, summaryOf } from '../../src/what-if/outcome-of.ts';
import type { Waits } from '../../src/what-if/outcome.ts';
import { call, startRealStack, type RealStack } from '../fixtures/real-stack.ts';

const RUNLEDGER = join(import.meta.dirname, '../../../cli/bin/runledger.mjs');
const RUNS = 6;
/** Each run holds its slot for about a second. */
const PROGRAMS = JSON.stringify({
  'render-image': { command: '/bin/sh', args: ['-c', 'read -r work; sleep 1; echo \'{"output": {}}\''] },
});

const opened = new AsyncDisposableStack();
let choosy: CreatedOrganisation;
let plain: CreatedOrganisation;
let day: CapturedDay;

/** Both prefer an L4, and take an A10G after a second; the L4 has no label, and executes nothing but what the machine of `plain` is for. */
beforeAll(async () => {
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-day-'))).path;
  const stack = opened.use(await startRealStack(folder));
  await stack.startScheduler('scheduler');
  const from = new Date().toISOString();
  choosy = await createOrganisation(stack.log, 'choosy', () => new Date());
  plain = await createOrganisation(stack.log, 'plain', () => new Date());
  await Promise.all([
    stack.startExecutor('box-l4', {
      EXECUTOR_GPUS: 'L4:1',
      EXECUTOR_PROGRAMS: PROGRAMS,
      EXECUTOR_MACHINES: `${plain.org_id}/this-machine`,
    }),
    stack.startExecutor('box-a10g', {
      EXECUTOR_GPUS: 'A10G:1',
      EXECUTOR_PROGRAMS: PROGRAMS,
      EXECUTOR_LABELS: 'nvlink',
    }),
  ]);
  const gpus = ['L4', { gpu: 'A10G', after_s: 1 }];
  await call(stack, choosy, 'PATCH', `/deployments/${choosy.deployment_id}`, { gpus, labels: ['nvlink'] });
  await call(stack, plain, 'PATCH', `/deployments/${plain.deployment_id}`, { gpus });
  const runs = await Promise.all([queueRuns(stack, choosy), queueRuns(stack, plain)]);
  for (const [owner, ids] of [[choosy, runs[0]] as const, [plain, runs[1]] as const])
    for (const id of ids)
      await waitFor(
        'the run to end',
        async () => Object(await call(stack, owner, 'GET', `/run/${id}`)).status === 'success',
        { withinMs: 120_000 },
      );
  const file = join(folder, 'day.ndjson.zst');
  const to = new Date(Date.now() + 1_000).toISOString();
  const capture = [RUNLEDGER, 'capture', '--from', from, '--to', to, '--output', file];
  const { PATH = '', HOME = '' } = process.env;
  await promisify(execFile)(process.execPath, capture, { env: { PATH, HOME, ...stack.account.env } });
  day = await foldDay(readSliceFile(file));
}, 300_000);
afterAll(() => opened.disposeAsync(), 60_000);

const queueRuns = async (stack: RealStack, owner: CreatedOrganisation): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < RUNS; n += 1) {
    const body = { deployment_id: owner.deployment_id, inputs: {} };
    ids.push(Object(await call(stack, owner, 'POST', '/run/deployment/queue', body)).run_id);
  }
  return ids;
};

const NOTHING = { weights: new Map<string, number>(), limits: new Map<string, number>() };

/** That day, simulated and with the changes: the waits of the organisation whose runs prefer a model that is no slot for them. */
const waitsWith = (changes?: Partial<Changes>): readonly Waits[] =>
  outcomeOf(day, {
    before: NOTHING,
    changes: changes && { ...NOTHING, gpus: new Map(), ...changes },
  }).days.map(({ byOrganisation }) => byOrganisation.get(choosy.org_id) ?? NONE);
const NONE: Waits = { runs: 0, p50: NaN, p90: NaN, p99: NaN, max: NaN };

const changed = (changes: Partial<Changes>): Waits => waitsWith(changes)[2] ?? NONE;
const slots = (model: string, count: number): Partial<Changes> => ({ gpus: new Map([[model, count]]) });

describe('a day of real services', () => {
  it('is played with its lists of GPU models, labels and machines', () => {
    expect(waitsWith()).toHaveLength(2);
    for (const { runs, p50, max } of waitsWith()) {
      expect(runs).toBe(RUNS);
      // The L4 is no slot for them, and they share the A10G, which they take after a second.
      expect(p50).toBeGreaterThan(1_000);
      expect(max).toBeGreaterThan(4_000);
    }
    expect(summaryOf(day).gpus.map(([model]) => model)).toEqual(['A10G', 'L4']);
  });

  it('tells what more GPUs of each model would change', () => {
    const { p50, max } = changed(slots('A10G', 12));
    // The time of their list is left.
    expect(p50).toBeGreaterThan(1_000);
    expect(max).toBeLessThan(3_000);
    // Executors that a change adds execute everything, so that the first model of the list will do.
    expect(changed(slots('L4', 12)).max).toBeLessThan(1_000);
  });

  it('tells what a limit and a weight would change', () => {
    const limits = new Map([[choosy.org_id, 1]]);
    expect(changed({ ...slots('A10G', 12), limits }).max).toBeGreaterThan(4_000);
    // All share one A10G now.
    const waitOf = ({ org_id }: CreatedOrganisation): number =>
      changed({ ...slots('L4', 0), weights: new Map([[org_id, 20]]) }).p50;
    expect(waitOf(choosy)).toBeLessThan(waitOf(plain));
  });
});
