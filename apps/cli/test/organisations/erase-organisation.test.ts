import { createOrganisation } from '@runledger/standalone/create-organisation';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe('runledger organisations erase', () => {
  it('erases an organisation whose name is given, and shows its tombstone', async () => {
    const { org_id } = await createOrganisation(gateway.log, 'Late Ltd', () => new Date());
    const erase = (name: string) => gateway.cli(['organisations', 'erase', org_id, '--name', name]);
    expect(await erase('Acme')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('The organisation has another name. Nothing was erased'),
    });
    expect(await erase('Late Ltd')).toEqual({
      code: 0,
      stdout: `Organisation ${org_id} is being erased. Its keys are refused within seconds.\n`,
      stderr: `See whether all of it is gone: runledger organisations tombstone ${org_id}\n`,
    });
    const tombstone = (...options: string[]) =>
      gateway.cli(['organisations', 'tombstone', org_id, ...options]);
    await waitFor('its key to be revoked', async () => (await tombstone()).stdout.includes('1 key,'));
    const { code, stdout } = await tombstone();
    expect([code, stdout.split('\n').map((line) => line.split(/ {2,}/))]).toEqual([
      0,
      expect.arrayContaining([
        ['organisation', org_id],
        ['state', 'being erased'],
        ['so far', '1 key, 0 runs, 0 files'],
      ]),
    ]);
    expect(JSON.parse((await tombstone('--json')).stdout)).toEqual(
      await gateway.read(`/organisations/${org_id}/tombstone`),
    );
  });

  it('needs the name', async () => {
    const { code, stderr } = await gateway.cli(['organisations', 'erase', gateway.org_id]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("required option '--name <name>'")]);
  });
});
