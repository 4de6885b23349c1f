import { blobSubject } from '@runledger/contracts/blobs';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';

describe('a full store of workflows', () => {
  it('is named in a refusal, and the versions that it has are used on', async () => {
    await using bed = await openTestBed({ workflowsMaxBytes: 50_000 });
    const gateway = await bed.gateway();
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const { body: workflow } = await post(`${gateway.api}/workflows`, admin, { name: 'a' });
    const url = `${gateway.api}/workflows/${workflow.id}/versions`;
    const publish = (text: string) => post(url, admin, { workflow: { text: text.repeat(30_000) } });
    expect((await publish('a')).status).toBe(201);
    const refused = await publish('b');
    expect([refused.status, refused.body]).toMatchObject([
      507,
      { detail: expect.stringContaining('workflowsMaxBytes'), code: 'workflow_store_full' },
    ]);
    expect((await call(url, bed.tenant.key)).body.versions).toHaveLength(1);
    expect((await publish('a')).status).toBe(201);
    await queueSample(gateway, bed.tenant);
  });
});

describe('a version whose workflow is lost', () => {
  it('is 410 with what to do, its runs cannot be run again, and the same workflow repairs it', async () => {
    await using bed = await openTestBed();
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    const first = await bed.gateway({ projecting: true });
    const run = await queueSample(first, bed.tenant);
    const { org_id, version, key } = bed.tenant;
    const body = {
      id: version.workflow_id,
      org_id,
      name: 'a',
      archived: false,
      created_at: version.created_at,
    };
    await bed.log.js.publish(
      `$KV.CATALOGUE.workflows.${org_id}.${version.workflow_id}`,
      JSON.stringify(body),
    );
    await bed.log.jsm.streams.purge('WORKFLOWS', {
      filter: blobSubject('WORKFLOWS', org_id, version.sha256),
    });
    // The one that has just stored the workflow does not look for it again at once.
    const gateway = await bed.gateway({ projecting: true });
    const versions = `${gateway.api}/workflows/${version.workflow_id}/versions`;
    expect(await call(`${versions}/${version.id}`, key)).toMatchObject({
      status: 410,
      body: {
        detail: expect.stringContaining('create another version with the same workflow'),
        code: 'workflow_lost',
      },
    });
    const again = () => post(`${gateway.api}/run/${run.run_id}/rerun`, key);
    expect(await again()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('is lost') },
    });
    const repair = { workflow: { kind: 'fractal' } };
    expect((await post(versions, admin, repair)).status).toBe(201);
    expect((await call(`${versions}/${version.id}`, key)).body.workflow).toEqual(repair.workflow);
    expect((await again()).status).toBe(200);
    expect((await call(`${versions}/${newUuid()}`, key)).status).toBe(404);
  });
});
