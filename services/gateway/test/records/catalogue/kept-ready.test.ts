import { createHash, randomBytes } from 'node:crypto';
import { executorId, newUuid } from '@runledger/contracts/ids';
import type { KeepReadyRequest, ReadySlotsRequest } from '@runledger/contracts/requests/ready-slots';
import { respondToKeepReady, respondWithReadySlots } from '@runledger/request-reply/ready-slots';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
let admin: string;
let machine_id: string;
/** In the order of their making: the second has no use but to be another. */
let versions: { readonly id: string; readonly archive: Buffer }[];
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({
    projecting: true,
    environment: { RUNLEDGER_KEPT_SLOTS_MAX: '5' },
    // So that a mark is old at once.
    now: () => new Date(Date.now() + 120_000),
  });
  admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
  const machine = { name: 'code', gpu: 'A10G', runner: { kind: 'code' } };
  machine_id = (await post(`${gateway.api}/machines`, admin, machine)).body.id;
  const { body } = await post(`${gateway.api}/workflows`, admin, { name: 'portrait' });
  versions = [await publish(body.id), await publish(body.id)];
});
afterAll(() => bed[Symbol.asyncDispose]());

const publish = async (workflow_id: string) => {
  const archive = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), randomBytes(1_000)]);
  const init = { method: 'POST', body: archive, headers: { 'content-type': 'application/zstd' } };
  const { body: file } = await call(`${gateway.api}/files?filename=code.tar.zst`, admin, init);
  const code_sha256 = createHash('sha256').update(archive).digest('hex');
  const workflow = { code_sha256, run: 'predict.py:predict' };
  const url = `${gateway.api}/workflows/${workflow_id}/versions`;
  const { body } = await post(url, admin, { workflow, code: file.id });
  return { id: String(body.id), archive };
};

const deploy = (more: Readonly<Record<string, unknown>>, version = versions[0]): Promise<ApiAnswer> =>
  post(`${gateway.api}/deployments`, admin, {
    name: newUuid(),
    workflow_version_id: version?.id,
    machine_id,
    ...more,
  });
const change = (id: string, body: unknown): Promise<ApiAnswer> =>
  call(`${gateway.api}/deployments/${id}`, admin, {
    method: 'PATCH',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
const wrongMember = ({ status, body }: ApiAnswer): unknown[] => [
  status,
  body.detail?.[0]?.loc,
  body.detail?.[0]?.msg,
];

const BOX = executorId('box.0a1b2c3d4e5f');

/** A scheduler that has everything ready in two slots of the box, and the box. */
const aFleet = async () => {
  const asked: ReadySlotsRequest['wanted'][] = [];
  const told: KeepReadyRequest[] = [];
  const open = new DisposableStack();
  open.use(
    respondWithReadySlots(bed.log, ({ wanted }) => {
      asked.push(wanted);
      return { places: wanted.map(() => [{ executor_id: BOX, slots: [0, 1] }]) };
    }),
  );
  open.use(
    respondToKeepReady(bed.log, BOX, (request) => {
      told.push(request);
      const executor = { state: 'prepared', why: null } as const;
      const slots = [
        { state: 'loaded', why: null },
        { state: 'failed', why: 'no weights' },
      ] as const;
      return { versions: request.versions.map(() => ({ executor, slots: [...slots] })) };
    }),
  );
  await bed.log.nc.flush();
  return { asked, told, [Symbol.dispose]: () => open.dispose() };
};

describe('a deployment that has its version kept ready', () => {
  it('says where it is ready, and how far that is', async () => {
    using fleet = await aFleet();
    const made = await deploy({ keep_loaded: 2, keep_prepared: 1, labels: ['zone:eu'] });
    expect([made.status, made.body]).toMatchObject([201, { keep_loaded: 2, keep_prepared: 1 }]);
    const ready = await call(`${gateway.api}/deployments/${made.body.id}/ready`, bed.tenant.key);
    expect(ready.body).toEqual({
      workflow_version_id: versions[0]?.id,
      keep_loaded: 2,
      keep_prepared: 1,
      executors: [
        {
          executor: 'box',
          state: 'prepared',
          why: null,
          slots: [
            { slot: 0, state: 'loaded', why: null },
            { slot: 1, state: 'failed', why: 'no weights' },
          ],
        },
      ],
    });
    expect(fleet.asked.flat()).toContainEqual({
      org_id: bed.tenant.org_id,
      gpus: ['A10G'],
      machine_id,
      machine_name: 'code',
      runner: { kind: 'code' },
      labels: ['zone:eu'],
      workflow_version_id: versions[0]?.id,
      keep_loaded: 2,
      keep_prepared: 1,
    });
    await change(made.body.id, { keep_loaded: 0, keep_prepared: 0 });
    const nothing = await call(`${gateway.api}/deployments/${made.body.id}/ready`, bed.tenant.key);
    expect(nothing.body).toMatchObject({ keep_loaded: 0, executors: [] });
  });

  it('is kept ready by the gateway itself, of its present version, until it is archived', async () => {
    using fleet = await aFleet();
    const { body: deployment } = await deploy({ keep_loaded: 1 });
    const lastTold = () =>
      fleet.told
        .flatMap((request) => request.versions)
        .filter((one) => one.deployment_id === deployment.id)
        .at(-1);
    await waitFor('the executor is told', () => lastTold()?.workflow_version_id === versions[0]?.id);
    await change(deployment.id, { workflow_version_id: versions[1]?.id });
    await waitFor('of the new version', () => lastTold()?.workflow_version_id === versions[1]?.id);
    expect((await change(deployment.id, { archived: true })).status).toBe(200);
    const archived = await call(`${gateway.api}/deployments/${deployment.id}/ready`, bed.tenant.key);
    expect(archived.body.executors).toEqual([]);
  });

  it('is fetched with a token of that version, which is worth nothing for another one', async () => {
    using fleet = await aFleet();
    const { body: deployment } = await deploy({ keep_prepared: 1 });
    await call(`${gateway.api}/deployments/${deployment.id}/ready`, admin);
    const { token = '' } =
      fleet.told.flatMap((request) => request.versions).find((one) => one.deployment_id === deployment.id) ??
      {};
    const get = (version: string | undefined, what: string, bearer = token) =>
      fetch(`${gateway.url}/preparations/${bed.tenant.org_id}/${version}/${what}`, {
        headers: { authorization: `Bearer ${bearer}` },
      });
    const code = await get(versions[0]?.id, 'code');
    expect(versions[0]?.archive.equals(Buffer.from(await code.arrayBuffer()))).toBe(true);
    const document: { workflow: string } = JSON.parse(await (await get(versions[0]?.id, 'version')).text());
    expect(JSON.parse(document.workflow)).toMatchObject({ run: 'predict.py:predict' });
    const later = `${Date.now() + 1e6}.${token.split('.')[1]}`;
    for (const [version, bearer] of [
      [versions[1]?.id, token],
      [versions[0]?.id, admin],
      [versions[0]?.id, later],
      [versions[0]?.id, token.slice(0, -1)],
    ])
      expect((await get(version, 'code', bearer)).status).toBe(401);
    await change(deployment.id, { keep_prepared: 0 });
  });

  it('cannot be one of a machine whose versions have no code, nor of more slots than the organisation may have', async () => {
    const program = { name: 'p', gpu: 'A10G', runner: { kind: 'program', program: 'render' } };
    const { body: machine } = await post(`${gateway.api}/machines`, admin, program);
    const { version } = bed.tenant;
    const plain = { machine_id: machine.id, workflow_version_id: version.id };
    expect(wrongMember(await deploy({ ...plain, keep_loaded: 1 }))).toEqual([
      422,
      ['body', 'keep_loaded'],
      expect.stringContaining('the machine has the runner program'),
    ]);
    const { body: one } = await deploy({ keep_loaded: 3, keep_prepared: 4 });
    expect(wrongMember(await deploy({ keep_prepared: 2 }))).toEqual([
      422,
      ['body', 'keep_prepared'],
      expect.stringContaining('ask for 1 or fewer here'),
    ]);
    const { body: two } = await deploy({ keep_loaded: 1 });
    expect((await change(two.id, { keep_loaded: 2 })).status).toBe(422);
    // What it has already is no reason to refuse another change.
    expect((await change(one.id, { weight: 2, keep_prepared: 3 })).status).toBe(200);
    expect((await change(two.id, { keep_loaded: 2 })).status).toBe(200);
    for (const { id } of [one, two]) await change(id, { archived: true });
    expect((await deploy({ keep_loaded: 65 })).status).toBe(422);
    const { kept } = catalogue(bed.log);
    await waitFor('nothing is looked at', async () => [...(await kept.now()).all()].length === 0);
  });
});
