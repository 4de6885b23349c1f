import { freePort } from '@runledger/local-servers/free-port';
import { waitFor } from '@runledger/testing/wait-for';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALLATION } from '../../../src/isolation/supervisor-code.ts';
import { sha256Of, type AssignedRun } from '../../fixtures/assigned-run.ts';
import type { QueuedPrompt } from '../../runners/comfyui/server/engine.ts';
import { playing, type Step } from '../../runners/comfyui/server/play.ts';
import { startTestServer, type TestServer } from '../../runners/comfyui/server/test-server.ts';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

let foreign: TestServer;
let own: string;
let service: ServiceTestBed;
/** Of the clients of an executor with the name that these have. */
const CLIENT = 'runledger.box.';
const startWithServers = (): Promise<ServiceTestBed> => {
  const args = [join(import.meta.dirname, '../../runners/comfyui/server/main.ts'), new URL(own).port];
  const server = { url: own, command: process.execPath, args, readable: [INSTALLATION] };
  const servers = [{ url: foreign.url }, server];
  return startService({ EXECUTOR_COMFYUI: JSON.stringify(servers) });
};
beforeAll(async () => {
  foreign = await startTestServer();
  own = `http://127.0.0.1:${await freePort()}`;
  service = await startWithServers();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await foreign[Symbol.asyncDispose]();
});

const assign = async (steps: readonly Step[], slot: number, more: object = {}): Promise<AssignedRun> => {
  const workflow = JSON.stringify(playing(steps, { filename_prefix: 'cats/cat' }));
  service.gateway.assignment = { workflow, input_targets: [{ name: 'seed', node: '1', field: 'noise' }] };
  const data = { runner: { kind: 'comfyui' }, workflow_sha256: sha256Of(workflow), slot, ...more } as const;
  return (await service.assign('comfyui', data)).run;
};

const answers = (): Promise<boolean> =>
  fetch(`${own}/system_stats`).then(
    ({ ok }) => ok,
    () => false,
  );

describe('an executor with ComfyUI servers', () => {
  it('registers that it runs ComfyUI workflows', () => {
    expect(service.registered.programs).toContain('runner:comfyui');
  });

  it.each([
    ['that runs anyway', 0],
    ['of its own', 1],
  ])('runs a workflow on a server %s, and stores its files', async (_, slot) => {
    const run = await assign([{ text: { text: ['a cat'] } }, { file: 'cat.png', content: '12345' }], slot);
    expect(await service.fact(run, 'RunSucceeded')).toMatchObject({
      data: {
        outputs: [
          {
            output_id: '1',
            node_id: '1',
            data: { text: ['a cat'], images: [{ filename: 'cat.png', subfolder: 'cats', bytes: 5 }] },
          },
        ],
      },
    });
  });

  it('fails a run with the node that failed', async () => {
    const run = await assign([{ fail: 'size is too large' }], 1);
    expect(await service.fact(run, 'RunFailed')).toMatchObject({
      data: {
        error: { kind: 'execution_error', node: '1', message: expect.stringContaining('size is too large') },
      },
    });
  });

  it('fetches which nodes take the inputs, when the run says so', async () => {
    const run = await assign([], 0, { has_input_targets: true, inputs: { seed: 9 } });
    await service.fact(run, 'RunSucceeded');
    expect(foreign.prompts.at(-1)?.prompt['1']?.inputs['noise']).toBe(9);
  });

  it('takes its own server with it when it is killed, and its next process stops what it left at another one', async () => {
    expect(await answers()).toBe(true);
    await assign([{ wait: 'for an interrupt' }], 0);
    await waitFor('the prompt to run', () => foreign.engine().running()?.client_id?.startsWith(CLIENT));
    const left = foreign.engine().running();
    // Somebody else's prompt on that server is not its business.
    const visitor = { number: 0, prompt_id: 'visitor', client_id: 'visitor', prompt: playing([]) };
    foreign.engine().add(visitor as QueuedPrompt);
    service.kill('SIGKILL');
    await service.exit();
    await waitFor('the end of the server', async () => !(await answers()));
    expect(foreign.engine().running()).toBe(left);

    await service[Symbol.asyncDispose]();
    service = await startWithServers();
    const run = await assign([{ text: { text: ['a cat'] } }], 0);
    expect(await service.fact(run, 'RunSucceeded')).toMatchObject({
      data: { outputs: [{ data: { text: ['a cat'] } }] },
    });
    expect(foreign.engine().history.get(left?.prompt_id ?? '')).toContain('execution_interrupted');
    expect(foreign.engine().history.get('visitor')).toContain('execution_success');
  });
});
