import { setTimeout as pause } from 'node:timers/promises';
import { call, type RealStack } from '@runledger/simulate/real-stack';
import type { CreatedOrganisation } from '@runledger/standalone/create-organisation';
import { waitFor } from '@runledger/testing/wait-for';

type Settings = Readonly<Record<string, string>>;

/** Each has a deployment of its own. */
interface Organisations {
  readonly plain: CreatedOrganisation;
  readonly limited: CreatedOrganisation;
  readonly choosy: CreatedOrganisation;
  readonly warm: CreatedOrganisation;
}

const program = (script: string, more: object = {}): object => ({
  'render-image': { command: '/bin/sh', args: ['-c', script], ...more },
});

/** What a run does follows from its input `mode`. */
const ONCE = program(
  `read -r work; case "$work" in *'"fail"'*) exit 3;; *'"slow"'*) sleep 60;; *) sleep 0.4;; esac; echo '{"output": {}}'`,
);
/** It loads for half a second. */
const RESIDENT = program(
  `sleep 0.5; echo '{"type":"ready"}'; while read -r line; do case "$line" in *'"fail"'*) exit 3;; *'"slow"'*) sleep 60;; esac; run=$(echo "$line" | sed 's/.*"run_id":"\\([^"]*\\)".*/\\1/'); case "$line" in *'"type":"run"'*) sleep 0.6; echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run\\"}";; esac; done`,
  { mode: 'resident' },
);

const executorSettings = (
  gpus: string,
  programs: object,
  settings: Settings,
  more: Settings = {},
): Settings => ({
  EXECUTOR_GPUS: gpus,
  EXECUTOR_PROGRAMS: JSON.stringify(programs),
  EXECUTOR_CANCEL_GRACE_S: '1',
  RUNLEDGER_HEARTBEAT_PERIOD_S: settings['RUNLEDGER_HEARTBEAT_PERIOD_S'] ?? '',
  ...more,
});

interface OwnedRun {
  readonly owner: CreatedOrganisation;
  readonly run: string;
}

interface Scenario {
  readonly organisations: Organisations;
  readonly settings: Settings;
}

/** What can happen to runs within a minute. */
export const playScenario = async (
  stack: RealStack,
  { organisations, settings }: Scenario,
): Promise<void> => {
  const { plain, limited, choosy, warm } = organisations;
  const queued: OwnedRun[] = [];
  const queue = async (owner: CreatedOrganisation, body: object = {}): Promise<string> => {
    const request = { deployment_id: owner.deployment_id, inputs: {}, ...body };
    const run = String(Object(await call(stack, owner, 'POST', '/run/deployment/queue', request)).run_id);
    queued.push({ owner, run });
    return run;
  };
  const several = async (n: number, owner: CreatedOrganisation, body: object = {}): Promise<void> => {
    for (let i = 0; i < n; i += 1) await queue(owner, body);
  };
  const cancel = (owner: CreatedOrganisation, run: string) =>
    call(stack, owner, 'POST', `/run/${run}/cancel`);
  const change = (owner: CreatedOrganisation, body: object) =>
    call(stack, owner, 'PATCH', `/deployments/${owner.deployment_id}`, body);
  const runOf = async ({ owner, run }: OwnedRun): Promise<Record<string, unknown>> =>
    Object(await call(stack, owner, 'GET', `/run/${run}`));
  const statusOf = async (one: OwnedRun): Promise<string> => String((await runOf(one))['status']);
  const until = (status: string, owner: CreatedOrganisation, run: string): Promise<unknown> =>
    waitFor(`the run to be ${status}`, async () => (await statusOf({ owner, run })) === status, {
      withinMs: 60_000,
    });
  const allEnded = async (): Promise<void> => {
    for (const one of queued.splice(0))
      await waitFor(
        'the run to end',
        async () => ['success', 'failed', 'timeout', 'cancelled'].includes(await statusOf(one)),
        { withinMs: 120_000 },
      );
  };

  await change(plain, { gpus: ['L4'], retry: { attempts: 3, on: [] } });
  await change(limited, { gpus: ['L4'], retry: { attempts: 2, on: ['program_exit'] } });
  await change(choosy, { gpus: ['A10G', { gpu: 'L4', after_s: 1 }], concurrency_limit: 2 });
  await change(warm, { gpus: ['L4'], labels: ['warm'], warm_wait_s: 5 });
  const first = await stack.startScheduler('scheduler-1', settings);
  const threeL4 = executorSettings('L4:3', ONCE, settings, { EXECUTOR_LABELS: 'big' });
  const box = await stack.startExecutor('box-l4', threeL4);
  const a10g = await stack.startExecutor('box-a10g', executorSettings('A10G:1', ONCE, settings));
  const residents = executorSettings('L4:2', RESIDENT, settings, { EXECUTOR_LABELS: 'warm' });
  await stack.startExecutor('box-warm', residents);

  // Shares, limits, lists of models, warm slots.
  await Promise.all([several(6, plain), several(4, limited), several(6, choosy), several(4, warm)]);
  await queue(plain, { delay_s: 3 });
  await several(3, plain, { concurrency_key: 'one at a time' });
  await allEnded();

  // Failures, another attempt, the limits of time, cancels.
  await queue(limited, { inputs: { mode: 'fail' } });
  await queue(plain, { inputs: { mode: 'slow' }, run_timeout_s: 2 });
  const slow = await queue(choosy, { inputs: { mode: 'slow' } });
  await queue(plain, { gpu: 'H100', start_deadline_s: 2 });
  await until('running', choosy, slow);
  const waiting = await queue(plain, { delay_s: 60 });
  await cancel(plain, waiting);
  await cancel(choosy, slow);
  await allEnded();
  for (let n = 0; n < 5; n += 1) await queue(plain, { inputs: { mode: 'slow' }, run_timeout_s: 4 });
  await queue(plain, { start_deadline_s: 1 });
  await allEnded();

  // A drained name, an executor that leaves, and one that is killed.
  await call(stack, plain, 'POST', '/executors/box-a10g/drain');
  await several(2, choosy);
  await pause(2_000);
  await call(stack, plain, 'POST', '/executors/box-a10g/resume');
  await allEnded();
  const long = await queue(choosy, { inputs: { mode: 'slow' }, run_timeout_s: 8 });
  await until('running', choosy, long);
  await a10g.stop();
  await change(plain, { labels: ['big'] });
  await change(limited, { labels: ['big'], retry: { attempts: 1, on: [] } });
  const lost = await queue(plain, { inputs: { mode: 'slow' }, run_timeout_s: 6 });
  const cancelled = await queue(plain, { inputs: { mode: 'slow' } });
  const givenUp = await queue(limited, { inputs: { mode: 'slow' } });
  await until('running', plain, lost);
  await until('running', plain, cancelled);
  await until('running', limited, givenUp);
  await change(plain, { labels: [] });
  box.kill('SIGKILL');
  await cancel(plain, cancelled);
  await several(3, plain);
  await pause(5_000);
  await stack.startExecutor('box-l4', threeL4);
  await stack.startExecutor('box-a10g', executorSettings('A10G:1', ONCE, settings));
  await allEnded();

  // Another scheduler leads.
  await stack.startScheduler('scheduler-2', settings);
  first.kill('SIGKILL');
  await Promise.all([several(4, plain), several(2, limited), several(2, choosy), several(4, warm)]);
  await allEnded();

  // Of two free slots the second run takes the one in which the first one is loaded, although it became free last.
  await change(plain, { labels: ['warm'] });
  await queue(plain);
  await allEnded();
  await pause(1_500);
  await queue(plain);
  await allEnded();
};
