import { randomBytes } from 'node:crypto';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCatalogueApi, aMachine, type CatalogueApi } from '../../records/catalogue/a-catalogue.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';

const dataUrl = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;

describe('the files of inputs of a deleted run', () => {
  let catalogue: CatalogueApi;
  let api: string;
  let key: string;
  let deployment_id: string;
  beforeAll(async () => {
    catalogue = await aCatalogueApi();
    ({ key } = catalogue.bed.tenant);
    ({ api } = await catalogue.bed.gateway({ projecting: true }));
    const admin = await catalogue.admin();
    const { body: workflow } = await admin.post('/workflows', { name: 'portrait' });
    const inputs = [
      { name: 'photo', type: 'image' },
      { name: 'frames', type: 'image[]' },
    ];
    const version = await admin.post(`/workflows/${workflow.id}/versions`, { workflow: {}, inputs });
    const { body: machine } = await admin.post('/machines', aMachine);
    const deployment = { name: 'portrait', workflow_version_id: version.body.id, machine_id: machine.id };
    deployment_id = (await admin.post('/deployments', deployment)).body.id;
  });
  afterAll(() => catalogue[Symbol.asyncDispose]());

  const runIn = async (body: { readonly run_id: string }): Promise<RunKey> => {
    const run = { org_id: orgId(catalogue.bed.tenant.org_id), run_id: runId(body.run_id) };
    await appendAll(catalogue.bed.log, assigned(run), started(run), succeeded(run, []));
    return run;
  };
  const queue = async (inputs: object): Promise<RunKey> =>
    runIn((await post(`${api}/run/deployment/queue`, key, { deployment_id, inputs })).body);
  const fileOf = async ({ run_id }: RunKey): Promise<string> =>
    (await call(`${api}/run/${run_id}?include=inputs`, key)).body.workflow_inputs.photo;
  const isThere = async (id: string): Promise<boolean> =>
    (await call(`${api}/files/${id}`, key)).status === 200;
  const remove = async ({ run_id }: RunKey): Promise<void> => {
    expect((await call(`${api}/run/${run_id}`, key, { method: 'DELETE' })).status).toBe(200);
    await waitFor('everything to be erased', async () => {
      const { body } = await call(`${api}/run/${run_id}/tombstone`, key);
      return body.state === 'erased';
    });
  };

  it.each([
    ['in its first fact', {}],
    ['in a blob', { prompt: 'x'.repeat(6_000) }],
  ])('go with it when they were made of data URLs, with its inputs %s', async (_where, others) => {
    const run = await queue({ ...others, photo: dataUrl(randomBytes(2_000)) });
    const file = await fileOf(run);
    expect(await isThere(file)).toBe(true);
    await remove(run);
    expect(await isThere(file)).toBe(false);
  });

  it('go with it when they are items of a list', async () => {
    const run = await queue({ frames: [dataUrl(randomBytes(2_000)), dataUrl(randomBytes(2_000))] });
    const { body } = await call(`${api}/run/${run.run_id}?include=inputs`, key);
    const [one, other] = body.workflow_inputs.frames;
    expect([await isThere(one), await isThere(other)]).toEqual([true, true]);
    await remove(run);
    expect([await isThere(one), await isThere(other)]).toEqual([false, false]);
  });

  it('stay when another run has the same content, or was run again with it', async () => {
    const photo = dataUrl(randomBytes(2_000));
    const run = await queue({ photo });
    const file = await fileOf(run);
    expect(await fileOf(await queue({ photo }))).toBe(file);
    await remove(run);
    expect(await isThere(file)).toBe(true);
    const repeated = await queue({ photo: dataUrl(randomBytes(2_000)) });
    const again = await runIn((await post(`${api}/run/${repeated.run_id}/rerun`, key)).body);
    await remove(repeated);
    expect(await isThere(await fileOf(again))).toBe(true);
  });

  it('stay when a client uploaded them, before the run or after it', async () => {
    const bytes = [randomBytes(2_000), randomBytes(2_000)];
    const upload = async (body: Buffer): Promise<string> =>
      (await call(`${api}/files?filename=photo.png`, key, { method: 'POST', body: new Uint8Array(body) }))
        .body.id;
    const [before, after] = bytes;
    if (!before || !after) throw new Error('there are two');
    const first = await upload(before);
    const runs = [await queue({ photo: first }), await queue({ photo: dataUrl(after) })];
    const second = await upload(after);
    for (const run of runs) await remove(run);
    expect([await isThere(first), await isThere(second)]).toEqual([true, true]);
  });
});
