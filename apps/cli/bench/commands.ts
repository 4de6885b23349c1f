/**
 * How long commands take beside Node alone, and `npm start` until it has accepted a run. Each round runs all of them in turns.
 * `node scripts/run.mjs apps/cli/bench/commands.ts [rounds]`
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { readConnectionFile } from '@runledger/standalone/connection-files';
import { commandCost, type CommandCost, processorTime } from '@runledger/testing/measuring';
import { waitFor } from '@runledger/testing/wait-for';

const ROUNDS = Number(process.argv[2] ?? 7);
const ROOT = join(import.meta.dirname, '..', '..', '..');
const STARTS_WITHIN_MS = 120_000;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = await mkdtemp(join(tmpdir(), 'runledger-commands-'));
const { PATH = '', HOME = '' } = process.env;
const env = { PATH, HOME, RUNLEDGER_DATA_DIR: folder, RUNLEDGER_PORT: '0' };

const run = (...command: readonly string[]): Promise<CommandCost> => commandCost(command, env);
const runledger = (...args: readonly string[]): Promise<CommandCost> =>
  run(process.execPath, join(ROOT, 'apps/cli/bin/runledger.mjs'), ...args);

const began = performance.now();
const standalone = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: 'ignore' });
killWithParent(standalone, 'group');
const ended = once(standalone, 'exit');
const isReady = async (): Promise<boolean> => (await readConnectionFile(folder)).kind === 'found';
await waitFor('the standalone to be ready', isReady, { withinMs: STARTS_WITHIN_MS });
const { stdout: queued } = await runledger('queue', '--json');
const start = { wallMs: performance.now() - began, processorMs: processorTime(standalone.pid) };
const id = (JSON.parse(queued) as { readonly run_id: string }).run_id;

const commands: Readonly<Record<string, () => Promise<CommandCost>>> = {
  'node alone': () => run(process.execPath, '--eval', '0'),
  'runledger --help': () => runledger('--help'),
  'runledger get RUN': () => runledger('get', id),
  'runledger queue': () => runledger('queue'),
  'runledger runs list': () => runledger('runs', 'list'),
  'runledger history RUN': () => runledger('history', id),
};
const costs = new Map(Object.keys(commands).map((name) => [name, Array.of<CommandCost>()]));
for (let round = 0; round < ROUNDS; round += 1)
  for (const [name, measured] of Object.entries(commands)) costs.get(name)?.push(await measured());
process.kill(-(standalone.pid ?? 0), 'SIGINT');
await ended;
await rm(folder, { recursive: true, force: true });

const ms = (values: readonly number[]): string => {
  const sorted = values.toSorted((one, other) => one - other);
  const [least = 0, median = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)]];
  return `${median.toFixed(0)} (least ${least.toFixed(0)})`;
};
say(
  `npm start, to the first accepted run: ${ms([start.wallMs])} ms, processor time ${ms([start.processorMs])} ms`,
);
for (const [name, all] of costs)
  say(
    `${name}: ${ms(all.map(({ wallMs }) => wallMs))} ms, processor time ${ms(all.map(({ processorMs }) => processorMs))} ms`,
  );
