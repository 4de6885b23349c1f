import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { historiesOf } from '../fixtures/log-of.ts';
import { kill9 } from '../fixtures/processes.ts';
import { runApi, type RunShown } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { aReceiver } from '../fixtures/webhook-receiver.ts';

const MiB = 1024 ** 2;
const ALL_END_WITHIN_MS = 180_000;
const ENDS: ReadonlySet<string> = new Set([
  'RunSucceeded',
  'RunFailed',
  'RunCancelled',
  'RunTimedOut',
  'RunGivenUp',
  'RunCancelEnforced',
]);

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const send = async ({ url, api_key }: Standalone, path: string, body: object): Promise<Answer> => {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: Object(await response.json()) };
};

/** A deployment like the sample's, with other settings. */
const aDeployment = async (standalone: Standalone, settings: object): Promise<string> => {
  const response = await fetch(`${standalone.url}/deployments/${standalone.deployment_id}`, {
    headers: { authorization: `Bearer ${standalone.api_key}` },
  });
  const { workflow_version_id, machine_id } = Object(await response.json());
  const name = `with ${JSON.stringify(settings)}`;
  const { body } = await send(standalone, '/deployments', {
    name,
    workflow_version_id,
    machine_id,
    ...settings,
  });
  return String(body['id']);
};

it(
  'a log that is full of accepted runs: each of them ends, its webhook too, and then new ones are accepted',
  { timeout: ALL_END_WITHIN_MS * 2 },
  async () => {
    await using receiver = await aReceiver();
    await using standalone = await startStandalone({
      env: {
        EXECUTOR_GPUS: 'A10G:2',
        RUNLEDGER_HEARTBEAT_PERIOD_S: '2',
        RUNLEDGER_LOG_SETTINGS: JSON.stringify({ runsMaxBytes: MiB }),
      },
    });
    const api = runApi(standalone);
    const sample = standalone.deployment_id;
    const tooSlow = await aDeployment(standalone, { run_timeout_s: 1 });
    const tooLate = await aDeployment(standalone, { start_deadline_s: 3 });
    const kinds = [
      { deployment_id: sample, inputs: { seconds: 0, size: 16 } },
      { deployment_id: sample, inputs: { seconds: 0, size: 16 } },
      { deployment_id: tooLate, inputs: { seconds: 0, size: 16 } },
      { deployment_id: sample, inputs: { seconds: 600, size: 16 } },
      { deployment_id: sample, inputs: { seconds: 0, size: 16 } },
    ];
    // It is among the first, so that it is executed, and its time limit passes.
    const first = await send(standalone, '/run/deployment/queue', {
      deployment_id: tooSlow,
      inputs: { seconds: 600, size: 16 },
      webhook: receiver.url,
    });
    const runs = [String(first.body['run_id'])];
    const endless: string[] = [];
    let refused: Answer | undefined;
    while (!refused) {
      const kind = kinds[runs.length % kinds.length];
      const answer = await send(standalone, '/run/deployment/queue', { ...kind, webhook: receiver.url });
      const run = String(answer.body['run_id']);
      if (answer.status !== 200) refused = answer;
      else runs.push(run);
      if (answer.status === 200 && kind?.inputs.seconds === 600) endless.push(run);
    }
    expect(refused).toMatchObject({ status: 503, body: { detail: expect.stringContaining('no room') } });
    expect(runs.length).toBeGreaterThan(30);

    // One that still runs when the executor is killed, and is queued again.
    const killed = await waitFor('an endless run to run', async () =>
      (await Promise.all(endless.map((run) => api.get(run)))).find(({ status }) => status === 'running'),
    );
    kill9(standalone.pid, 'services/gpu-executor/src/main.');
    await waitFor('its attempt to end', async () => {
      const [attempt] = (await api.get(killed.id)).attempts;
      return attempt?.ended_at;
    });
    for (const run of endless) await api.cancel(run);

    const deadline = performance.now() + ALL_END_WITHIN_MS;
    const shown: RunShown[] = [];
    for (const run of runs) shown.push(await api.ended(run, deadline - performance.now()));
    const reasons = new Set(shown.map(({ end_reason }) => end_reason));
    expect([...reasons]).toEqual(expect.arrayContaining(['cancelled_by_client', 'completed', 'run_timeout']));
    // Without an executor, as after the kill, the passed deadline has the other word.
    expect(reasons.has('start_deadline') || reasons.has('no_capacity')).toBe(true);
    const histories = await historiesOf(standalone.dataFolder, shown);
    for (const { facts } of histories) {
      // A cancel request ends a waiting run by itself.
      const isCancelled = facts.some(({ event }) => event.type === 'RunCancelRequested');
      const ends = facts.filter(({ event }) => ENDS.has(event.type)).length;
      expect(ends === 1 || (ends === 0 && isCancelled), JSON.stringify(facts)).toBe(true);
    }
    expect(histories.some(({ facts }) => facts.some(({ event }) => event.type === 'RunRequeued'))).toBe(true);
    for (const run of runs) {
      await waitFor(
        `the webhook of run ${run}`,
        async () => (await api.get(run)).webhook_status === 'success',
        {
          withinMs: 60_000,
        },
      );
    }

    const next = await api.queue({ seconds: 0, size: 16 });
    expect(await api.ended(next, 60_000)).toMatchObject({ status: 'success' });
  },
);
