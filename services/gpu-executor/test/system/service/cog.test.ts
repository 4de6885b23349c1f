import { freePort } from '@runledger/local-servers/free-port';
import { cogCommand, cogStatus, startCog, type CogCommand } from '@runledger/testing/servers/cog';
import { waitFor } from '@runledger/testing/wait-for';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Of, type AssignedRun } from '../../fixtures/assigned-run.ts';
import { processesOf } from '../../fixtures/marked-processes.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

let cog: CogCommand;
beforeAll(async () => {
  cog = await cogCommand(join(import.meta.dirname, '../runners/cog/predict.py'));
}, 600_000);
afterAll(() => cog[Symbol.dispose]());

const start = (painter: { readonly url: string }, env: Record<string, string> = {}) =>
  startService({ EXECUTOR_GPUS: 'A10G:1', EXECUTOR_COG: JSON.stringify({ painter }), ...env });

const assign = async (service: ServiceTestBed, input: object): Promise<AssignedRun> => {
  const workflow = JSON.stringify({ input });
  service.gateway.assignment = { workflow };
  const runner = { kind: 'cog', model: 'painter' } as const;
  return (await service.assign('painter', { runner, workflow_sha256: sha256Of(workflow) })).run;
};

const killInAPrediction = async (service: ServiceTestBed, url: string): Promise<void> => {
  await assign(service, { what: 'steps', steps: 1_000 });
  await waitFor('the prediction', async () => (await cogStatus(url)) === 'BUSY');
  service.kill('SIGKILL');
  await service.exit();
};

describe('a kill -9 of an executor in the middle of a Cog prediction', () => {
  it.each(['auto', 'off'])('leaves no server that it started (isolation: %s)', async (isolation) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await using service = await start({ ...cog.entry, url }, { EXECUTOR_ISOLATION: isolation });
    await killInAPrediction(service, url);
    await waitFor('the end of the server', async () => (await cogStatus(url)) === undefined);
    await waitFor('no process', async () => (await processesOf(service.workFolder)).length === 0);
  });

  it('cancels it on a server that runs anyway, which executes the next run', async () => {
    await using server = await startCog(cog);
    const { url } = server;
    {
      await using killed = await start({ url });
      await killInAPrediction(killed, url);
    }
    await waitFor('the end of the prediction', async () => (await cogStatus(url)) === 'READY');
    await using next = await start({ url });
    const run = await assign(next, { what: 'text' });
    expect((await next.fact(run, 'RunSucceeded')).data).toMatchObject({
      outputs: [{ data: { text: ['python 3'] } }],
    });
  });
});
