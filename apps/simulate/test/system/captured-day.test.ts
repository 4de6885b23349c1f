import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createOrganisation, type CreatedOrganisation } from '@runledger/standalone/create-organisation';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readWhatIf, whatIf } from '../../src/what-if/what-if.ts';
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
let day: string;

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
  day = join(folder, 'day.ndjson.zst');
  const to = new Date(Date.now() + 1_000).toISOString();
  const capture = [RUNLEDGER, 'capture', '--from', from, '--to', to, '--output', day];
  const { PATH = '', HOME = '' } = process.env;
  await promisify(execFile)(process.execPath, capture, { env: { PATH, HOME, ...stack.account.env } });
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

/** The lines that the command prints. */
const tellOf = async (...options: string[]): Promise<string[]> => {
  const lines: string[] = [];
  await whatIf(readWhatIf(['--day', day, ...options]), (line) => lines.push(line));
  return lines;
};

interface Row {
  readonly runs: number;
  readonly p50: number;
  readonly max: number;
}

/** Of the table of waits: an organisation, and that day, simulated or with the changes. */
const rowOf = (lines: readonly string[], { org_id }: CreatedOrganisation, title: string): Row => {
  const first = lines.findIndex((line) => line.trim().startsWith(org_id));
  const row = lines.slice(first, first + 3).find((line) => line.includes(title)) ?? '';
  const [runs = '', ...waits] = row
    .slice(row.indexOf(title) + title.length)
    .trim()
    .split(/ {2,}/);
  const [p50 = Number.NaN, , , max = Number.NaN] = waits.map(milliseconds);
  return { runs: Number(runs), p50, max };
};

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };
const milliseconds = (text: string): number => {
  const [value, unit = ''] = text.split(' ');
  return Number(value) * (UNITS[unit] ?? Number.NaN);
};

describe('a day of real services', () => {
  it('is played with its lists of GPU models, labels and machines', async () => {
    const lines = await tellOf();
    for (const title of ['that day', 'simulated']) {
      expect(rowOf(lines, plain, title).runs).toBe(RUNS);
      const { runs, p50, max } = rowOf(lines, choosy, title);
      expect(runs).toBe(RUNS);
      // The L4 is no slot for them, and they share the A10G, which they take after a second.
      expect(p50).toBeGreaterThan(1_000);
      expect(max).toBeGreaterThan(4_000);
    }
    const slots = lines.filter((line) => /^ *(L4|A10G) +that day/.test(line));
    expect(slots).toHaveLength(2);
  });

  it('tells what more GPUs of each model would change', async () => {
    const withA10G = rowOf(await tellOf('--gpus', 'A10G=12'), choosy, 'with the changes');
    // The time of their list is left.
    expect(withA10G.p50).toBeGreaterThan(1_000);
    expect(withA10G.max).toBeLessThan(3_000);
    // Executors that a change adds execute everything, so that the first model of the list will do.
    const withL4 = rowOf(await tellOf('--gpus', 'L4=12'), choosy, 'with the changes');
    expect(withL4.max).toBeLessThan(1_000);
  });

  it('tells what a limit and a weight would change', async () => {
    const limited = await tellOf('--gpus', 'A10G=12', '--limit', `${choosy.org_id}:1`);
    expect(rowOf(limited, choosy, 'with the changes').max).toBeGreaterThan(4_000);
    const waitOf = async (weighted: CreatedOrganisation): Promise<number> => {
      const lines = await tellOf('--gpus', 'L4=0', '--weight', `${weighted.org_id}:20`);
      return rowOf(lines, choosy, 'with the changes').p50;
    };
    // All share one A10G now.
    expect(await waitOf(choosy)).toBeLessThan(await waitOf(plain));
  });
});
