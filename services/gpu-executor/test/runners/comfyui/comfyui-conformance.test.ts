import { freePort } from '@runledger/local-servers/free-port';
import { join } from 'node:path';
import { atTheEnd } from '../../fixtures/at-the-end.ts';
import { describeRunner, JSON_VALUES, type RunnerUnderTest, type Workload } from '../runner-conformance.ts';
import { openComfyui } from './run-comfyui.ts';
import { playing, type Step } from './server/play.ts';
import { startTestServer } from './server/test-server.ts';

const LOG: readonly Step[] = [{ say: 'one' }, { progress: 0.5 }, { say: 'two' }];

const STEPS: Readonly<Record<Workload, readonly Step[]>> = {
  'succeeds with text and a file': [
    { progress: 0.25 },
    { text: { text: ['one', 'two'], seed: [7] } },
    { file: 'frames/1.png', content: '12345' },
  ],
  fails: [{ fail: 'size is too large' }],
  'fails after a file': [{ file: 'half.png', content: '' }, { fail: 'no memory' }],
  crashes: [{ crash: true }],
  'ends when it is cancelled': [
    { progress: 0.5 },
    { wait: 'for an interrupt' },
    { file: 'tidied', content: '' },
  ],
  'ignores a cancel': [{ progress: 0.5 }, { wait: 'for ever' }],
  'writes its log': LOG,
  'puts out JSON values': [{ text: { json: [...JSON_VALUES] } }],
  'leaves a file': [{ file: 'begun', content: '' }],
  'copies an input file': [{ copy: 'copy' }],
  'floods its output': [{ flood: 3_000_000 }, { text: { text: ['last'] } }],
  'writes too much text': [{ text: { text: ['x'.repeat(280_000)] } }],
  'ignores its input': [],
};

const workflowOf = (steps: readonly Step[], more: unknown): unknown =>
  playing(
    steps,
    { input_id: 'picture', filename_prefix: 'ComfyUI', more },
    { title: 'row 1/2', class_type: 'ComfyUIDeployExternalImage' },
  );

describeRunner('the ComfyUI runner with servers that run anyway', async ({ graceMs }) => {
  const servers = [await startTestServer(), await startTestServer()];
  for (const server of servers) atTheEnd(() => server[Symbol.asyncDispose]());
  const comfyui = await openComfyui({ servers: servers.map(({ url }) => ({ url })), graceMs });
  const start: RunnerUnderTest['start'] = async (workload, options) =>
    comfyui.start(workflowOf(STEPS[workload], options?.workflow), options);
  return { start };
});

/** What its own process prints is the log of the run. */
const PRINTED = LOG.map((step) => ('say' in step ? { print: step.say } : step));

describeRunner('the ComfyUI runner with servers of its own', async ({ graceMs }) => {
  const servers = await Promise.all(
    [0, 1].map(async () => {
      const port = await freePort();
      const args = [join(import.meta.dirname, 'server', 'main.ts'), String(port)];
      return { url: `http://127.0.0.1:${port}`, command: process.execPath, args };
    }),
  );
  const comfyui = await openComfyui({ servers, graceMs });
  const start: RunnerUnderTest['start'] = async (workload, options) =>
    comfyui.start(
      workflowOf(workload === 'writes its log' ? PRINTED : STEPS[workload], options?.workflow),
      options,
    );
  return { start };
});
