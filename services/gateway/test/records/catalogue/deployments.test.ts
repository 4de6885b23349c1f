import type { ShortageRequest, ShortageResponse } from '@runledger/contracts/requests/executors';
import { respondWithShortages } from '@runledger/request-reply/shortage';
import { newUuid } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { aCatalogueApi, aMachine, wrongIn, type CatalogueApi, type Client } from './a-catalogue.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const aRequest = (request: object = {}) => {
  const { machine, version } = catalogue.bed.tenant;
  return { name: 'shop', machine_id: machine.id, workflow_version_id: version.id, ...request };
};
const aDeployment = async (request: object = {}) =>
  (await admin.post('/deployments', aRequest(request))).body;
const newMachine = async (): Promise<string> => (await admin.post('/machines', aMachine)).body.id;
const newVersion = async () => {
  const { id } = (await admin.post('/workflows', { name: 'second' })).body;
  return (await admin.post(`/workflows/${id}/versions`, { workflow: 2 })).body;
};

describe('a deployment whose runs no executor can take', () => {
  const WARNING = 'runledger-warning';

  it('is made and changed with a warning that says why, in words that a header may have', async () => {
    const { log } = catalogue.bed;
    const asked: ShortageRequest[] = [];
    let answer: ShortageResponse['shortage'] = 'no_runner';
    using open = new DisposableStack();
    open.use(
      respondWithShortages(log, (request) => {
        asked.push(request);
        return answer;
      }),
    );
    await log.nc.flush();
    const runner = { kind: 'program', program: 'nö, such' };
    const machine_id = (await admin.post('/machines', { ...aMachine, runner })).body.id;
    const request = aRequest({
      machine_id,
      gpus: [
        { gpu: 'H100', after_s: 0 },
        { gpu: 'L4', after_s: 60 },
      ],
      labels: ['zone:eu'],
    });
    const made = await admin.post('/deployments', request);
    expect([made.status, made.headers.get(WARNING)]).toEqual([
      201,
      'runs of this deployment will wait: no executor that has the GPU H100 or L4 and serves the machine offers program n%C3%B6%2C%20such',
    ]);
    expect(asked).toEqual([
      {
        org_id: catalogue.bed.tenant.org_id,
        gpus: ['H100', 'L4'],
        machine_id,
        machine_name: aMachine.name,
        runner,
        labels: ['zone:eu'],
      },
    ]);
    const path = `/deployments/${made.body.id}`;
    for (const [shortage, words] of [
      ['no_executor', 'no executor is there now'],
      ['no_gpu', 'has the GPU H100 or L4'],
      ['not_served', 'serves machine render%20node'],
      ['no_label', 'has the labels zone%3Aeu'],
    ] as const) {
      answer = shortage;
      expect((await admin.patch(path, { weight: 2 })).headers.get(WARNING)).toContain(words);
    }
    answer = null;
    expect((await admin.patch(path, { weight: 2 })).headers.get(WARNING)).toBeNull();
  });

  it('is made without a warning while no scheduler says it', async () => {
    const { status, headers } = await admin.post('/deployments', aRequest());
    expect([status, headers.get(WARNING)]).toEqual([201, null]);
  });
});

describe('a deployment', () => {
  it('is created with defaults, read and listed', async () => {
    const { status, body } = await admin.post('/deployments', aRequest());
    expect(status).toBe(201);
    expect(body).toEqual({
      ...aRequest(),
      id: expect.any(String),
      org_id: catalogue.bed.tenant.org_id,
      workflow_id: catalogue.bed.tenant.version.workflow_id,
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
      run_timeout_s: 3600,
      start_deadline_s: 3600,
      bounds: { min_priority: -100, max_priority: 100, max_delay_s: null },
      retry: { attempts: 3 },
      if_no_output: 'warn',
      log_masks: null,
      archived: false,
      created_at: expect.any(String),
    });
    expect((await admin.get(`/deployments/${body.id}`)).body).toEqual(body);
    expect((await admin.get('/deployments')).body.deployments[0]).toEqual(body);
  });

  it('has bounds until null removes them, one or all', async () => {
    const made = await aDeployment({ bounds: { min_priority: -5, max_priority: 5 } });
    expect(made.bounds).toEqual({ min_priority: -5, max_priority: 5, max_delay_s: null });
    const change = async (bounds: unknown) =>
      (await admin.patch(`/deployments/${made.id}`, { bounds })).body.bounds;
    expect(await change({ max_priority: 7, max_delay_s: 60 })).toEqual({
      min_priority: -5,
      max_priority: 7,
      max_delay_s: 60,
    });
    expect(await change({ min_priority: null })).toEqual({
      min_priority: -100,
      max_priority: 7,
      max_delay_s: 60,
    });
    expect(await change(null)).toEqual({ min_priority: -100, max_priority: 100, max_delay_s: null });
    const wrong = await admin.post(
      '/deployments',
      aRequest({ bounds: { min_priority: 1, max_priority: -1 } }),
    );
    expect(
      wrong.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join('.'), type]),
    ).toEqual([
      ['body.bounds.min_priority', 'less_than_equal'],
      ['body.bounds.max_priority', 'greater_than_equal'],
    ]);
  });

  it('has log masks until null removes them', async () => {
    const { id } = await aDeployment({ log_masks: ['one', 'two'] });
    expect((await admin.patch(`/deployments/${id}`, { name: 'other' })).body.log_masks).toEqual([
      'one',
      'two',
    ]);
    expect((await admin.patch(`/deployments/${id}`, { log_masks: null })).body.log_masks).toBeNull();
  });

  it.each([
    [
      ['fine', '('],
      [['body', 'log_masks', 1], 'RE2 syntax'],
    ],
    [['a*'], [['body', 'log_masks', 0], 'everywhere']],
    [['[a-z]{500}'], [['body', 'log_masks'], 'too much time']],
  ])('is refused with the log masks %j', async (log_masks, [loc, why]) => {
    const { status, body } = await admin.post('/deployments', aRequest({ log_masks }));
    expect([status, body.detail]).toEqual([
      422,
      [expect.objectContaining({ loc, msg: expect.stringContaining(String(why)) })],
    ]);
  });

  it('keeps every given setting, and accepts ids in either case', async () => {
    const settings = {
      environment: 'staging',
      gpu: 'H100',
      labels: ['zone:eu-west-1', 'nvlink'],
      concurrency_limit: 4,
      weight: 2.5,
      run_timeout_s: 0.5,
      start_deadline_s: 60,
      retry: { attempts: 1 },
      log_masks: ['sk-[a-z0-9]{8,}'],
    };
    const { machine_id, workflow_version_id } = aRequest();
    const request = {
      ...settings,
      machine_id: machine_id.toUpperCase(),
      workflow_version_id: workflow_version_id.toUpperCase(),
    };
    expect(await aDeployment(request)).toMatchObject({ ...settings, machine_id, workflow_version_id });
  });

  it('changes only the named members; null clears optional ones and changes no others', async () => {
    const { id, ...rest } = await aDeployment({
      gpu: 'L4',
      labels: ['nvlink'],
      concurrency_limit: 2,
      weight: 3,
    });
    const path = `/deployments/${id}`;
    expect((await admin.patch(path, { name: 'new', run_timeout_s: 5 })).body).toEqual({
      ...rest,
      id,
      name: 'new',
      run_timeout_s: 5,
    });
    const nulls = Object.fromEntries(Object.keys(rest).map((name) => [name, null]));
    const { body } = await admin.patch(path, nulls);
    expect(body).toEqual({
      ...rest,
      id,
      name: 'new',
      run_timeout_s: 5,
      gpu: null,
      gpus: [],
      concurrency_limit: null,
    });
    expect((await admin.get(path)).body).toEqual(body);
  });

  it('has several GPU models in order, and one as a list of one', async () => {
    const { id, gpu, gpus } = await aDeployment({ gpus: ['l4', { gpu: 'A10G', after_s: 60 }, 'T4'] });
    expect([gpu, gpus]).toEqual([
      'L4',
      [
        { gpu: 'L4', after_s: 0 },
        { gpu: 'A10G', after_s: 60 },
        { gpu: 'T4', after_s: 60 },
      ],
    ]);
    const patch = async (change: object) => (await admin.patch(`/deployments/${id}`, change)).body;
    expect(await patch({ environment: 'staging' })).toMatchObject({ gpu, gpus });
    expect(await patch({ gpu: 'H100' })).toMatchObject({ gpu: 'H100', gpus: [{ gpu: 'H100', after_s: 0 }] });
    expect(await patch({ gpus: ['T4', 'L4'], gpu: null })).toMatchObject({ gpu: 'T4' });
    expect(await patch({ gpus: [] })).toMatchObject({ gpu: null, gpus: [] });
  });

  it.each([
    [{ gpus: ['L4', 'A 10'] }, ['gpus.1', 'string_pattern_mismatch']],
    [{ gpus: ['L4', { gpu: 'T4', after_s: -1 }] }, ['gpus.1.after_s', 'greater_than_equal']],
    [{ gpus: ['L4', 'l4'] }, ['gpus.1', 'value_error']],
    [{ gpus: [{ gpu: 'L4', after_s: 5 }] }, ['gpus.0', 'value_error']],
    [{ gpus: ['T4', { gpu: 'L4', after_s: 5 }, { gpu: 'A10G', after_s: 4 }] }, ['gpus.2', 'value_error']],
    [{ gpu: 'L4', gpus: ['L4'] }, ['gpus', 'value_error']],
  ])('is refused with the models %j', async (models, wrong) => {
    const answer = await admin.post('/deployments', { ...aRequest(), ...models });
    expect(wrongIn(answer)).toEqual([wrong]);
  });

  it('follows its version to another workflow, and is listed there', async () => {
    const version = await newVersion();
    const { id } = await aDeployment();
    const listed = async (workflow: string): Promise<string[]> =>
      (await admin.get(`/deployments?workflow_id=${workflow}`)).body.deployments.map(
        (one: { id: string }) => one.id,
      );
    expect(await listed(version.workflow_id)).toEqual([]);
    const { body } = await admin.patch(`/deployments/${id}`, { workflow_version_id: version.id });
    expect(body).toMatchObject({ workflow_version_id: version.id, workflow_id: version.workflow_id });
    expect(await listed(version.workflow_id.toUpperCase())).toEqual([id]);
    expect(await listed(newUuid())).toEqual([]);
  });

  it('loses no concurrent change of different settings', async () => {
    const { id } = await aDeployment();
    const changes = [
      { name: 'a' },
      { environment: 'b' },
      { gpu: 'T4' },
      { concurrency_limit: 3 },
      { run_timeout_s: 7 },
    ];
    await Promise.all(changes.map((change) => admin.patch(`/deployments/${id}`, change)));
    expect((await admin.get(`/deployments/${id}`)).body).toMatchObject(Object.assign({}, ...changes));
  });

  it.each([
    [
      'nothing',
      () => ({}),
      [
        ['name', 'missing'],
        ['workflow_version_id', 'missing'],
        ['machine_id', 'missing'],
      ],
    ],
    ['ids that are none', () => aRequest({ machine_id: 'x' }), [['machine_id', 'uuid_parsing']]],
    [
      'an unknown machine and version',
      () => aRequest({ machine_id: newUuid(), workflow_version_id: newUuid() }),
      [
        ['workflow_version_id', 'value_error'],
        ['machine_id', 'value_error'],
      ],
    ],
    [
      'settings out of bounds',
      () =>
        aRequest({
          run_timeout_s: 0,
          start_deadline_s: 1e9,
          concurrency_limit: 0.5,
          weight: 0,
          labels: ['a', ':b'],
          retry: { attempts: 101 },
        }),
      [
        ['labels.1', 'string_pattern_mismatch'],
        ['concurrency_limit', 'int_from_float'],
        ['weight', 'greater_than_equal'],
        ['run_timeout_s', 'greater_than'],
        ['start_deadline_s', 'less_than_equal'],
        ['retry.attempts', 'less_than_equal'],
      ],
    ],
    [
      'runs that could outlive their events',
      () => aRequest({ run_timeout_s: 86_400, start_deadline_s: 172_800, retry: { attempts: 3 } }),
      [['', 'value_error']],
    ],
  ])('is refused with %s', async (_what, request, wrong) => {
    expect(wrongIn(await admin.post('/deployments', request()))).toEqual(wrong);
  });

  it('refuses a change with which its runs could outlive their events', async () => {
    const { id } = await aDeployment({ run_timeout_s: 86_400 });
    const { status, body } = await admin.patch(`/deployments/${id}`, { retry: { attempts: 100 } });
    expect(status).toBe(422);
    expect(body.detail[0]).toMatchObject({ loc: ['body'], type: 'value_error', msg: /could live 9000000 s/ });
    expect((await admin.get(`/deployments/${id}`)).body.retry.attempts).toBe(3);
  });

  it('cannot name an archived record, and cannot be restored onto one', async () => {
    const machine_id = await newMachine();
    const onIt = await aDeployment({ machine_id });
    await admin.patch(`/deployments/${onIt.id}`, { archived: true });
    expect((await admin.patch(`/machines/${machine_id}`, { archived: true })).status).toBe(200);
    const { id } = await aDeployment();
    for (const refused of [
      await admin.post('/deployments', aRequest({ machine_id })),
      await admin.patch(`/deployments/${id}`, { machine_id }),
    ]) {
      expect(refused.body.detail).toEqual([
        {
          loc: ['body', 'machine_id'],
          type: 'value_error',
          msg: expect.stringMatching(/archived\. Restore it/),
        },
      ]);
    }
    const path = `/deployments/${onIt.id}`;
    expect(await admin.patch(path, { archived: false })).toMatchObject({
      status: 409,
      body: { detail: /cannot be restored: the machine is archived/, code: 'deployment_not_restorable' },
    });
    const elsewhere = { archived: false, machine_id: aRequest().machine_id };
    expect(await admin.patch(path, elsewhere)).toMatchObject({ status: 200, body: elsewhere });
  });

  it('never uses a machine that was archived at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const machine_id = await newMachine();
      const { id } = await aDeployment();
      const [archiving] = await Promise.all([
        admin.patch(`/machines/${machine_id}`, { archived: true }),
        admin.post('/deployments', aRequest({ machine_id })),
        admin.patch(`/deployments/${id}`, { machine_id }),
      ]);
      const { archived } = (await admin.get(`/machines/${machine_id}`)).body;
      const { deployments } = (await admin.get('/deployments?limit=100')).body;
      const used = deployments.some((one: { machine_id: string }) => one.machine_id === machine_id);
      expect({ archived, used }).not.toEqual({ archived: true, used: true });
      expect(archived).toBe(archiving.status === 200);
    }
  });
});

describe('a run', () => {
  it('has the GPU model of its deployment, else of its machine, whatever its name', async () => {
    const { bed } = catalogue;
    const machine_id = (await admin.post('/machines', { ...aMachine, gpu: 'h200' })).body.id;
    const onMachine = await aDeployment({ machine_id });
    const onOwn = await aDeployment({ machine_id, gpu: 'rtx6000-ada' });
    const gpuOf = async (deployment: typeof onOwn): Promise<string> => {
      const { run_id } = await queueSample(await bed.gateway(), { ...bed.tenant, deployment });
      return (await admin.get(`/run/${run_id}`)).body.gpu;
    };
    expect([onOwn.gpu, await gpuOf(onMachine), await gpuOf(onOwn)]).toEqual([
      'RTX6000-ADA',
      'H200',
      'RTX6000-ADA',
    ]);
  });

  it('keeps what it was queued with, also when its deployment changes', async () => {
    const { bed } = catalogue;
    const machine_id = await newMachine();
    const deployment = await aDeployment({ machine_id, gpu: 'L4', run_timeout_s: 10, concurrency_limit: 2 });
    const key = await queueSample(await bed.gateway(), { ...bed.tenant, deployment });
    await admin.patch(`/machines/${machine_id}`, { gpu: 'T4', type: 'other', runner: { kind: 'comfyui' } });
    const changed = {
      gpu: 'H100',
      run_timeout_s: 20,
      concurrency_limit: null,
      retry: { attempts: 1 },
      workflow_version_id: (await newVersion()).id,
    };
    expect((await admin.patch(`/deployments/${deployment.id}`, changed)).status).toBe(200);
    await admin.patch(`/deployments/${deployment.id}`, { archived: true });
    const read = await readRun(bed.log, key);
    expect(read.kind === 'found' && read.run.request).toMatchObject({
      gpu: 'L4',
      run_timeout_s: 10,
      concurrency_limit: 2,
      max_attempts: 3,
      workflow_version_id: bed.tenant.version.id,
      workflow_sha256: bed.tenant.version.sha256,
      machine_type: 'program',
      machine_version: '1',
      runner: aMachine.runner,
    });
    expect((await admin.get(`/run/${key.run_id}`)).body).toMatchObject({ gpu: 'L4', machine_version: '1' });
  });

  it('is not queued on an archived deployment, and is on a restored one', async () => {
    const { id } = await aDeployment();
    const queue = () => admin.post('/run/deployment/queue', { deployment_id: id });
    await admin.patch(`/deployments/${id}`, { archived: true });
    expect(await queue()).toMatchObject({ status: 404, body: { code: 'deployment_archived' } });
    await admin.patch(`/deployments/${id}`, { archived: false });
    expect((await queue()).status).toBe(200);
  });
});
