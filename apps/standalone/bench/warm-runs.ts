// node scripts/run.mjs apps/standalone/bench/warm-runs.ts [runs] [a second] [seconds] [slots]
//
// What a run of a resident program costs that does nothing. See README.md.
import { setTimeout as pause } from 'node:timers/promises';
import { aStandalone, type MeasuredStandalone } from './a-standalone.ts';

const [runs = 4_000, rate = 100, seconds = 10, slots = 16] = process.argv.slice(2).map(Number);
const CONNECTIONS = 64;
const ASK_EVERY_MS = 5;
/** Of the runs at a steady rate, one in so many is asked for. */
const ASKED = 4;
const LOOK_EVERY_MS = 20;
const SETTLE_MS = 2_000;
/** Reads nothing but the id of a run, so that it takes next to nothing itself. */
const SCRIPT = `echo '{"type":"ready"}'; while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do
  echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done`;
const INPUTS = { text: 'x'.repeat(150) };

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const warmDeployment = async ({ call, deploymentId }: MeasuredStandalone): Promise<string> => {
  const { workflow_version_id, environment } = await call(`/deployments/${deploymentId}`);
  const runner = { kind: 'program', program: 'nothing' };
  const machine = await call('/machines', { name: 'warm', gpu: 'CPU', runner });
  const made = await call('/deployments', {
    name: 'warm',
    workflow_version_id,
    machine_id: machine['id'],
    environment,
  });
  return String(made['id']);
};

const programs = { nothing: { command: '/bin/sh', args: ['-c', SCRIPT], mode: 'resident' } };
const { PATH = '', HOME = '' } = process.env;
await using standalone = await aStandalone(process.cwd(), {
  PATH,
  HOME,
  EXECUTOR_GPUS: `CPU:${slots}`,
  EXECUTOR_PROGRAMS: JSON.stringify(programs),
});
const { call } = standalone;
const deployment_id = await warmDeployment(standalone);

const queue = async (): Promise<string> =>
  String((await call('/run/deployment/queue', { deployment_id, inputs: INPUTS }))['run_id']);

/** Asks until the run shows its end. */
const ended = async (id: string, everyMs: number): Promise<Record<string, unknown>> => {
  for (;;) {
    const run = await call(`/run/${id}`);
    if (run['finished'] === true) {
      if (run['status'] !== 'success') throw new Error(JSON.stringify(run['error']));
      return run;
    }
    await pause(everyMs);
  }
};

const eachOf = async <Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> => {
  const left = items.values();
  const connection = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
};

const quantiles = (times: readonly number[]): string => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
};

/** Queues at a steady rate, whatever becomes of the runs before. */
const steadily = async (): Promise<void> => {
  const toStart: number[] = [];
  const toEnd: number[] = [];
  const one = async (n: number): Promise<void> => {
    const began = performance.now();
    const id = await queue();
    if (n % ASKED !== 0) return;
    const run = await ended(id, ASK_EVERY_MS);
    toEnd.push(performance.now() - began);
    toStart.push(Date.parse(String(run['started_at'])) - Date.parse(String(run['queued_at'])));
  };
  const began = performance.now();
  const all: Promise<void>[] = [];
  for (let n = 0; n < rate * seconds; n += 1) {
    all.push(one(n));
    await pause(Math.max(began + ((n + 1) * 1_000) / rate - performance.now(), 1));
  }
  await Promise.all(all);
  say(`${rate} runs/s: from queued to started ${quantiles(toStart)}`);
  say(`${rate} runs/s: from POST to the visible end ${quantiles(toEnd)}, asked every ${ASK_EVERY_MS} ms`);
};

/** Queues as fast as is answered, waits for the last, and reads each. */
const atOnce = async (): Promise<void> => {
  const before = standalone.processorTimes();
  const began = performance.now();
  const ids: string[] = [];
  await eachOf(Array.from({ length: runs }), async () => ids.push(await queue()));
  await ended(ids.at(-1) ?? '', LOOK_EVERY_MS);
  const elapsed = (performance.now() - began) / 1_000;
  await eachOf(ids, (id) => ended(id, LOOK_EVERY_MS));
  await pause(SETTLE_MS);
  const each = [...standalone.processorTimes()]
    .map(([name, ms]) => ({ name, ms: (ms - (before.get(name) ?? 0)) / runs }))
    .toSorted((a, b) => b.ms - a.ms);
  const all = each.reduce((sum, { ms }) => sum + ms, 0);
  say(
    `${runs} runs over ${CONNECTIONS} connections: ${(runs / elapsed).toFixed(0)} runs/s, ${all.toFixed(2)} ms of processor time for each`,
  );
  for (const { name, ms } of each) say(`  ${name} ${ms.toFixed(2)} ms`);
};

await eachOf(Array.from({ length: slots * 10 }), async () => ended(await queue(), LOOK_EVERY_MS));
await pause(SETTLE_MS);
await steadily();
await atOnce();
