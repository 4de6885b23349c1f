import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { call, post } from '../fixtures/requests/requests.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { anEndedRun } from '../fixtures/runs/notified-runs.ts';
import { queueKeyed, queueSample, runIn } from '../fixtures/runs/queued-runs.ts';
import { get, send, type Provoke, type Scene } from './a-scene.ts';

const ofRun = (scene: Scene, { run_id }: RunKey, method: string, below = '') =>
  send(scene, method, `/run/${run_id}${below}`, { key: scene.tenant.key });

const end = ({ bed }: Scene, run: RunKey) => appendAll(bed.log, assigned(run), started(run), succeeded(run));

const endedRun = async (scene: Scene): Promise<RunKey> => {
  const run = await queueSample(scene.gateway, scene.tenant);
  await end(scene, run);
  return run;
};

/** Of each of these codes of runs, a request that is refused with it. */
export const REFUSED_FOR_RUNS = {
  run_not_found: get((id) => `/run/${id}`),
  run_deleted: async (scene) => {
    const run = await endedRun(scene);
    await ofRun(scene, run, 'DELETE');
    return ofRun(scene, run, 'GET');
  },
  no_run_at_that_time: (scene) => ofRun(scene, scene.run, 'GET', '?at=2001-01-01'),
  tombstone_not_found: get((id) => `/run/${id}/tombstone`),
  output_not_found: ({ gateway }) => call(`${gateway.url}/outputs/${'a'.repeat(43)}/a.png`, null),
  idempotency_key_reused: async ({ gateway, tenant }) => {
    await queueKeyed(gateway, tenant, 'once');
    return queueKeyed(gateway, tenant, 'once', { inputs: { other: 1 } });
  },
  idempotency_key_of_deleted_run: async (scene) => {
    const queue = () => queueKeyed(scene.gateway, scene.tenant, 'deleted');
    const run = runIn(scene.tenant, await queue());
    await end(scene, run);
    await ofRun(scene, run, 'DELETE');
    return queue();
  },
  run_not_ended: (scene) => ofRun(scene, scene.run, 'DELETE'),
  notification_not_settled: async (scene) =>
    ofRun(scene, await anEndedRun(scene.bed, scene.gateway), 'DELETE'),
  run_has_no_webhook: async (scene) => ofRun(scene, await endedRun(scene), 'POST', '/redeliver'),
  inputs_too_large: ({ gateway, tenant }) =>
    post(`${gateway.api}/run/deployment/queue`, tenant.key, {
      deployment_id: tenant.deployment.id,
      inputs: { text: 'x'.repeat(300_000) },
    }),
} as const satisfies Readonly<Record<string, Provoke>>;
