import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cogCommand, startCog } from '@runledger/testing/servers/cog';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { historyOf } from '../../fixtures/log-of.ts';
import { kill9 } from '../../fixtures/processes.ts';
import { runApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone } from '../../fixtures/start-standalone.ts';

it(
  'a run whose executor is killed in a prediction of a shared Cog server begins again there, and ends once',
  { timeout: 600_000 },
  async () => {
    using cog = await cogCommand(join(import.meta.dirname, 'predict.py'));
    await using server = await startCog(cog);
    await using standalone = await startStandalone({
      env: {
        EXECUTOR_GPUS: 'A10G:1',
        EXECUTOR_COG: JSON.stringify({ painter: { url: server.url } }),
        RUNLEDGER_HEARTBEAT_PERIOD_S: '2',
      },
    });
    const { dataFolder } = standalone;
    const workflow = join(dataFolder, 'workflow.json');
    await writeFile(workflow, '{"input": {}}');
    const deploy = ['deploy', workflow, '--name', 'painting', '--gpu', 'A10G', '--cog', 'painter', '--json'];
    const { deployment } = JSON.parse((await runCli(deploy, dataFolder)).stdout);
    const api = runApi({ ...standalone, deployment_id: deployment.id });

    const run = await api.queue();
    // The run is running before the server has the prediction, which would then be its first after the kill.
    await waitFor('the first prediction', async () => (await api.get(run)).progress > 0, {
      withinMs: 60_000,
    });
    kill9(standalone.pid, 'services/gpu-executor/src/main.');
    const ended = await api.ended(run, 120_000);
    expect(ended).toMatchObject({
      status: 'success',
      outputs: [{ data: { text: ['prediction 2'] } }],
      attempts: [{ number: 1, end_reason: 'executor_lost' }, { number: 2 }],
    });
    const { facts } = await historyOf(dataFolder, ended);
    const types = facts.map(({ event }) => event.type);
    expect(types.filter((type) => type === 'RunAssigned')).toHaveLength(2);
    expect(types.at(-1)).toBe('RunSucceeded');

    const next = await api.ended(await api.queue(), 60_000);
    expect(next).toMatchObject({ status: 'success', attempts: [{ number: 1 }] });
  },
);
