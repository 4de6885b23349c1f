import { isJsonObject } from '@runledger/contracts/json';
import type { ConfiguredRun } from '../run-configured.ts';
import {
  describeRunner,
  JSON_VALUES,
  type RunnerUnderTest,
  type StartOptions,
  type Workload,
} from '../runner-conformance.ts';
import { doing, foreignServer, openCog, ownServer } from './run-cog.ts';
import { dataUrl, type Step } from './server/steps.ts';

const LOOKED_AT = { wait: 'for a look' } as const;

const STEPS: Readonly<Record<Workload, readonly Step[]>> = {
  'succeeds with text and a file': [
    { draw: 'row 1/2:  25%|██▌       |' },
    { draw: '100%|██████████|' },
    {
      output: { text: ['one', 'two'], seed: 7, frames: { '1': dataUrl('image/png', '12345') } },
    },
  ],
  fails: [{ fail: 'size is too large' }],
  'fails after a file': [
    { output: { half: dataUrl('image/png', '') } },
    LOOKED_AT,
    LOOKED_AT,
    { fail: 'no memory' },
  ],
  crashes: [{ crash: 'server' }],
  'ends when it is cancelled': [
    { print: 'step 1/2' },
    { wait: 'for a cancel' },
    { output: { tidied: dataUrl('', '') } },
    LOOKED_AT,
    LOOKED_AT,
  ],
  'ignores a cancel': [{ print: 'step 1/2' }, { wait: 'for ever' }],
  'writes its log': [{ print: 'one' }, { print: 'two' }],
  'puts out JSON values': [{ output: JSON_VALUES }],
  'leaves a file': [{ output: { begun: dataUrl('', '') } }],
  'copies an input file': [{ copy: 'picture', to: 'copy' }],
  'floods its output': [{ flood: 3_000_000 }, { output: 'last' }],
  'writes too much text': [{ output: 'x'.repeat(280_000) }],
  'ignores its input': [],
};

const workflowOf = (workload: Workload, workflow: unknown): unknown => ({
  ...(isJsonObject(workflow) ? workflow : {}),
  ...doing(...STEPS[workload]),
});

const runnerOf = async (
  open: ReturnType<typeof openCog>,
  more: (options?: StartOptions) => ConfiguredRun = () => ({}),
): Promise<RunnerUnderTest> => {
  const cog = await open;
  return {
    start: async (workload, options) =>
      cog.start(workflowOf(workload, options?.workflow), { ...options, ...more(options) }),
  };
};

describeRunner('the Cog runner with servers of its own', async ({ graceMs }) =>
  runnerOf(openCog({ models: { painter: await ownServer() }, slots: 2, graceMs })),
);

describeRunner('the Cog runner with servers that run anyway', async ({ graceMs }) => {
  const models = { painter: await foreignServer(), sculptor: await foreignServer() };
  // Slots that choose the same one wait for each other.
  return runnerOf(openCog({ models, slots: 2, graceMs }), ({ slot } = {}) => ({
    choice: { kind: 'cog', model: slot === 1 ? 'sculptor' : 'painter' },
  }));
});
