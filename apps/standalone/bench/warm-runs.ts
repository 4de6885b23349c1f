// What a run of a resident program costs that does nothing, from POST to the visible end. See README.md.
import { setTimeout as pause } from 'node:timers/promises';
import { aStandalone, type MeasuredStandalone } from './a-standalone.ts';

const [runs = 1_000, rate = 20, seconds = 20] = process.argv.slice(2).map(Number);
const SLOTS = 4;
const SETTLE_MS = 2_000;
/** Reads nothing but the id of a run, so that it takes next to nothing itself. */
const SCRIPT = `echo '{"type":"ready"}'; while IFS='"' read -r _ _ _ _ _ _ _ run_id _; do
  echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; done`;

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

/** The milliseconds from POST until GET shows the end. */
const oneRun = async ({ call }: MeasuredStandalone, deployment_id: string): Promise<number> => {
  const began = performance.now();
  const { run_id } = await call('/run/deployment/queue', { deployment_id });
  for (;;) {
    const run = await call(`/run/${String(run_id)}?wait=20`);
    if (run['finished'] !== true) continue;
    if (run['status'] !== 'success') throw new Error(JSON.stringify(run['error']));
    return performance.now() - began;
  }
};

const quantile = (sorted: readonly number[], part: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1);

const programs = { nothing: { command: '/bin/sh', args: ['-c', SCRIPT], mode: 'resident' } };
const { PATH = '', HOME = '' } = process.env;
await using standalone = await aStandalone(process.cwd(), {
  PATH,
  HOME,
  EXECUTOR_GPUS: `CPU:${SLOTS}`,
  EXECUTOR_PROGRAMS: JSON.stringify(programs),
});
const deployment = await warmDeployment(standalone);
await Promise.all(Array.from({ length: 100 }, () => oneRun(standalone, deployment)));
await pause(SETTLE_MS);

const latencies: Promise<number>[] = [];
for (let count = 0; count < rate * seconds; count += 1) {
  latencies.push(oneRun(standalone, deployment));
  await pause(1_000 / rate);
}
const sorted = (await Promise.all(latencies)).toSorted((a, b) => a - b);
say(
  `at ${rate} runs/s: p50 ${quantile(sorted, 0.5)} ms, p99 ${quantile(sorted, 0.99)} ms from POST to the visible end`,
);
await pause(SETTLE_MS);

const before = standalone.processorTime();
const began = performance.now();
const left = Array.from({ length: runs });
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (left.pop() !== undefined || left.length > 0) await oneRun(standalone, deployment);
  }),
);
const elapsed = (performance.now() - began) / 1_000;
await pause(SETTLE_MS);
const each = (standalone.processorTime() - before) / runs;
say(
  `${runs} runs, 32 at once: ${(runs / elapsed).toFixed(0)} runs/s, ${each.toFixed(2)} ms of processor time for each`,
);
