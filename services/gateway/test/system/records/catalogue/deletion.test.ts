import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { aKey } from '../../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { call, post, type ApiAnswer } from '../../../fixtures/requests/requests.ts';
import { queueSample } from '../../../fixtures/runs/queued-runs.ts';

const MINUTE_MS = 60_000;

it(
  'archived records are deleted after a minute, and runs of them keep their ids',
  { timeout: 180_000 },
  async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway({ projecting: true });
    const { tenant } = bed;
    const admin = await aKey(bed.log, tenant, { scopes: ['admin'] });
    const other = await aKey(bed.log, await bed.newTenant(), { scopes: ['admin'] });
    const at = (path: string) => `${gateway.api}${path}`;
    const send = (method: string, path: string, key = admin, body?: object): Promise<ApiAnswer> =>
      call(at(path), key, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    const remove = (path: string, key = admin) => send('DELETE', path, key);
    const archive = (path: string) => send('PATCH', path, admin, { archived: true });

    const workflow = (await post(at('/workflows'), admin, { name: 'a' })).body;
    const versions = `/workflows/${workflow.id}/versions`;
    const first = (await post(at(versions), admin, { workflow: { kind: 'one' } })).body;
    const second = (await post(at(versions), admin, { workflow: { kind: 'two' } })).body;
    const machine = { name: 'a', gpu: 'A100', runner: { kind: 'program', program: 'a' } };
    const { id: machine_id } = (await post(at('/machines'), admin, machine)).body;
    const request = { name: 'a', machine_id, workflow_version_id: first.id };
    const deployment = (await post(at('/deployments'), admin, request)).body;
    const run = await queueSample(gateway, { ...tenant, deployment });
    const [ofDeployment, ofMachine, ofVersion] = [
      `/deployments/${deployment.id}`,
      `/machines/${machine_id}`,
      `${versions}/${first.id}`,
    ];

    expect((await remove(ofDeployment, tenant.key)).status).toBe(403);
    expect((await remove(ofDeployment, other)).status).toBe(404);
    expect((await remove(ofDeployment)).body.detail).toContain('archive it first');
    for (const path of [ofDeployment, ofMachine, ofVersion, `/workflows/${workflow.id}`]) {
      expect([path, (await archive(path)).status]).toEqual([path, 200]);
    }
    expect((await remove(ofDeployment)).body.detail).toMatch(/less than a minute ago.*try again in \d+ s/);
    await pause(MINUTE_MS);
    expect((await remove(ofDeployment)).body.detail).toContain(run.run_id);
    expect((await remove(ofMachine)).body.detail).toContain(deployment.id);
    expect((await post(at(`/run/${run.run_id}/cancel`), tenant.key)).status).toBe(200);
    expect((await remove(`/workflows/${workflow.id}`)).body.detail).toContain('has the versions 1');
    for (const path of [ofDeployment, ofMachine, ofVersion, `/workflows/${workflow.id}`]) {
      expect([path, (await remove(path)).status]).toEqual([path, 204]);
      expect([path, (await call(at(path), admin)).status]).toEqual([path, 404]);
      expect([path, (await remove(path)).status]).toEqual([path, 404]);
    }
    expect((await call(at(`${versions}/${second.id}`), admin)).status).toBe(404);
    const shown = (await call(at(`/run/${run.run_id}`), tenant.key)).body;
    expect(shown).toMatchObject({ status: 'cancelled', workflow_version_id: first.id });
    expect((await post(at(`/run/${run.run_id}/rerun`), tenant.key)).status).toBe(404);
  },
);
