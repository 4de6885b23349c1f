import { newUuid } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import {
  configureRunners,
  openRunners,
  registeredBy,
  settingsOf,
} from '../../../src/runners/runner-registry.ts';
import { programRunnerType } from '../../../src/runners/program/program-runner-type.ts';
import { openResidentProcesses } from '../../../src/residents/resident-processes.ts';
import type { OpenRunner } from '../../../src/runners/runner-type.ts';
import type { RunnerWork } from '../../../src/runners/runner.ts';
import { ORG_ID } from '../../fixtures/isolations.ts';
import { noIsolation } from '../../../src/isolation/choose-isolation.ts';
import { ownMark } from '../../../src/supervision/stray-processes.ts';
import { openSupervisors } from '../../../src/supervision/supervisors.ts';
import { limited } from '../../fixtures/limited.ts';
import { temporaryFolder } from '../program/run-a-program.ts';
import { runFolders } from '../run-folders.ts';
import { observed } from '../observed.ts';
import { describeRunner, JSON_VALUES, type Workload } from '../runner-conformance.ts';
import { stepsRunnerType } from './steps-runner.ts';
import { NO_CODE } from '../../fixtures/no-code.ts';

const TYPES = [programRunnerType, stepsRunnerType];
const SETTINGS = { EXECUTOR_PROGRAMS: '{"shell": ["/bin/sh"]}', EXECUTOR_STEPS: true };

const STEPS: Readonly<Record<Workload, readonly object[]>> = {
  'succeeds with text and a file': [
    { progress: 0.25, live_status: 'row 1/2' },
    { text: { text: ['one'], seed: ['7'] } },
    { progress: 1 },
    { text: { text: ['two'] } },
    { file: 'frames/1.png', content: '12345' },
  ],
  fails: [{ fail: 'size is too large' }],
  'fails after a file': [{ file: 'half.png', content: '' }, { fail: 'no memory' }],
  crashes: [{ fail: 'a step threw' }],
  'ends when it is cancelled': [
    { progress: 0.5 },
    { wait: 'until cancelled' },
    { file: 'tidied', content: '' },
  ],
  'ignores a cancel': [{ progress: 0.5 }, { wait: 'forever' }],
  'writes its log': [{ log: 'one' }, { progress: 0.5 }, { log: 'two' }],
  'puts out JSON values': [{ text: { json: JSON_VALUES.map((value) => JSON.stringify(value)) } }],
  'leaves a file': [{ file: 'begun', content: '' }],
  'floods its output': [
    ...Array.from({ length: 10_000 }, () => ({ progress: 0.5 })),
    { text: { text: ['last'] } },
  ],
  'writes too much text': [{ text: { text: ['x'.repeat(280_000)] } }],
  'copies an input file': [{ copy: 'picture', to: 'copy' }],
  'ignores its input': [],
};

const openSteps = async (workFolder: string, cancelGraceMs: number): Promise<OpenRunner> => {
  const configured = await configureRunners(TYPES, SETTINGS, { PATH: process.env['PATH'], slots: [] });
  if ('problems' in configured) throw new Error(JSON.stringify(configured.problems));
  const mark = await ownMark(workFolder);
  const supervisors = openSupervisors({
    ...limited,
    isolation: noIsolation('chosen by the test'),
    mark,
    path: '',
    workFolder,
    log: silentLogger,
  });
  const processes = { env: {}, workFolder, supervisors, mark, log: silentLogger };
  const residents = openResidentProcesses({ ...processes, stopGraceMs: cancelGraceMs });
  const runnerFor = openRunners(configured, {
    ...processes,
    executorName: 'box',
    slots: [],
    residents,
    fetchModel: NO_CODE,
    cancelGraceMs,
  });
  // No machine can have this kind: it is a runner of this test.
  const runner = runnerFor({ kind: 'steps' } as unknown as RunnerWork['choice']);
  if (runner === undefined) throw new Error('the registry has no runner of steps');
  return runner;
};

describeRunner('a second runner, behind one line of the registry', async ({ graceMs }) => {
  const workFolder = temporaryFolder();
  const runner = await openSteps(workFolder, graceMs);
  return {
    start: async (workload, options = {}) => {
      const { slot = 0, inputs = {} } = options;
      const folders = runFolders(workFolder, options);
      const { observe, ...reported } = observed(options.mayBegin);
      const cancelling = new AbortController();
      const work = {
        org_id: ORG_ID,
        run_id: newUuid(),
        workflow: STEPS[workload],
        inputs,
        deployment_id: null,
        gpu: 'A10G',
        attempt: 1,
        inputTargets: [],
        workflow_version_id: 'version',
        fetchCode: NO_CODE,
        fetchKeptModel: NO_CODE,
        traceparent: null,
        choice: { kind: 'steps' } as unknown as RunnerWork['choice'],
        slot: { index: slot, gpu: 'A10G', device: String(slot) } as const,
        ...folders,
      };
      const result = runner.run(work, observe, cancelling.signal);
      return { result, ...reported, logged: [], cancel: () => cancelling.abort(), ...folders, workFolder };
    },
  };
});

it('the registry has the settings of both runners, and registers what both can do', async () => {
  expect(Object.keys(settingsOf(TYPES))).toEqual(['EXECUTOR_PROGRAMS', 'EXECUTOR_STEPS']);
  const configured = await configureRunners(TYPES, SETTINGS, { PATH: process.env['PATH'], slots: [] });
  if ('problems' in configured) throw new Error(JSON.stringify(configured.problems));
  expect(registeredBy(configured)).toEqual({ programs: ['shell'], dedicated: {} });
});

it('the registry reports what is wrong with the settings of any runner, at once', async () => {
  const wrong = { EXECUTOR_PROGRAMS: 'nothing', EXECUTOR_STEPS: false };
  const configured = await configureRunners(TYPES, wrong, { slots: [] });
  expect('problems' in configured && configured.problems.map(({ variable }) => variable)).toEqual([
    'EXECUTOR_PROGRAMS',
    'EXECUTOR_STEPS',
  ]);
});
