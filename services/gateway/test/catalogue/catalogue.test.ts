import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../src/catalogue/catalogue.ts';
import { aWorld, type World } from '../fixtures/a-world.ts';

let world: World;
beforeAll(async () => {
  world = await aWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('the catalogue', () => {
  it('shows a record to its own organisation only', async () => {
    const { deployment } = world.tenant;
    const records = catalogue(world.log);
    expect(await records.getDeployment(deployment.org_id, deployment.id)).toEqual(deployment);
    expect(await records.getDeployment(newUuid(), deployment.id)).toBeUndefined();
  });

  it('takes no deployment whose runs could outlive their events in the log', async () => {
    const day = 24 * 3600;
    const long = { ...world.tenant.deployment, id: newUuid(), start_deadline_s: day, run_timeout_s: 2 * day };
    await expect(catalogue(world.log).putDeployment(long)).rejects.toThrow(/could live 777600 s/);
    expect(await catalogue(world.log).getDeployment(long.org_id, long.id)).toBeUndefined();
    await catalogue(world.log).putDeployment({ ...long, retry: { attempts: 2 } });
  });

  it('never changes a workflow version', async () => {
    const { version } = world.tenant;
    const changed = { ...version, workflow: { kind: 'another' } };
    expect(await catalogue(world.log).createWorkflowVersion(changed)).toBe(false);
    expect(await catalogue(world.log).getWorkflowVersion(version.org_id, version.id)).toEqual(version);
  });
});
