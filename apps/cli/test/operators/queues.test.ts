import { describe, expect, it } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { cliAt } from '../fixtures/run-cli.ts';

const ORG = '01920000-0000-7000-8000-00000000000a';
const DEPLOYMENT = '01920000-0000-7000-8000-00000000000d';
const counts = { waiting: 12, delayed: 3, running: 1, oldest_queued_at: '2026-05-01T12:00:00.000Z' };
const pool = {
  gpu: 'A10G',
  slots: 2,
  busy_slots: 1,
  ...counts,
  starts_per_minute: 0.5,
  organisations: [
    {
      org_id: ORG,
      ...counts,
      starts_per_minute: 0.4,
      deployments: [{ deployment_id: DEPLOYMENT, ...counts, oldest_queued_at: null }],
      more_deployments: 1,
    },
  ],
  more_organisations: 2,
};

/** As the API shows it, so far as the command reads it. */
const aDeployment = (id: string, name: string): object => ({
  id,
  org_id: ORG,
  workflow_id: ORG,
  workflow_version_id: ORG,
  machine_id: ORG,
  name,
  environment: 'production',
  gpu: null,
  gpus: [],
  labels: [],
  warm_wait_s: 0,
  keep_prepared: 0,
  keep_loaded: 0,
  concurrency_limit: null,
  weight: 1,
  strict_inputs: false,
  run_timeout_s: 60,
  start_deadline_s: 60,
  bounds: { min_priority: -100, max_priority: 100, max_delay_s: null },
  retry: { attempts: 3 },
  if_no_output: 'warn',
  log_masks: null,
  archived: false,
  created_at: '2026-05-01T12:00:00.000Z',
});

const queues = async (pools: object[], ...args: string[]) => {
  const gateway = await aGateway({ status: 200, body: { pools, next_cursor: null } });
  const result = await cliAt(gateway.url, 'rl_key')(['queues', ...args]);
  return { ...result, requests: gateway.requests };
};

describe('runledger queues', () => {
  it('lists the GPU models, with organisations and deployments below each', async () => {
    const { code, stdout } = await queues([pool]);
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      [
        'GPU',
        'ORGANISATION, ITS DEPLOYMENTS',
        'BUSY/SLOTS',
        'WAITING',
        'DELAYED',
        'RUNNING',
        'STARTS/MIN',
        'OLDEST QUEUED AT',
      ],
      ['A10G', '1/2', '12', '3', '1', '0.5', '2026-05-01T12:00:00.000Z'],
      [ORG, '12', '3', '1', '0.4', '2026-05-01T12:00:00.000Z'],
      [`- ${DEPLOYMENT}`, '12', '3', '1', '-'],
      ['- and 1 more deployment'],
      ['and 2 more organisations'],
      [''],
    ]);
  });

  it('shows the names of the deployments of its organisation that have one alone', async () => {
    const [other, theirs] = [DEPLOYMENT.replace(/d$/, 'e'), DEPLOYMENT.replace(/d$/, 'f')];
    const ids = [DEPLOYMENT, other, theirs];
    const [organisation] = pool.organisations;
    const deployments = ids.map((deployment_id) => ({ deployment_id, ...counts }));
    const pools = [{ ...pool, organisations: [{ ...organisation, deployments }] }];
    const named = async (...names: string[]): Promise<string[]> => {
      const page = {
        deployments: names.map((name, i) => aDeployment(ids[i] ?? '', name)),
        next_cursor: null,
      };
      const gateway = await aGateway(
        { status: 200, body: { pools, next_cursor: null } },
        { status: 200, body: page },
      );
      const { stdout } = await cliAt(gateway.url, 'rl_key')(['queues']);
      expect(gateway.requests.map(({ path }) => path)).toEqual([
        '/api/queues?limit=50',
        '/api/deployments?limit=100',
      ]);
      return [...stdout.matchAll(/- (\S+) +12 /g)].map(([, who = '']) => who);
    };
    expect(await named('portrait', 'upscale')).toEqual(['portrait', 'upscale', theirs]);
    expect(await named('twin', 'twin')).toEqual(ids);
  });

  it('asks for one model and one organisation, and prints JSON', async () => {
    const { stdout, requests } = await queues([pool], '--gpu', 'a10g', '--organisation', ORG, '--json');
    expect(JSON.parse(stdout)).toEqual(pool);
    expect(requests).toMatchObject([
      { method: 'GET', path: `/api/queues?limit=50&gpu=A10G&organisation=${ORG}` },
    ]);
  });

  it('says that there is nothing', async () =>
    expect((await queues([])).stderr).toBe('No run waits or executes, and there is no executor.\n'));
});
