import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { newUuid } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openResidentProcesses } from '../../../src/residents/resident-processes.ts';
import type { ResidentProgram } from '../../../src/runners/program/allow-list.ts';
import { residentRunner } from '../../../src/runners/program/resident-runner.ts';
import { NO_CACHES, openCaches } from '../../../src/folders/caches.ts';
import type { RunnerWork } from '../../../src/runners/runner.ts';
import { noIsolation } from '../../../src/isolation/choose-isolation.ts';
import type { Isolation } from '../../../src/isolation/isolation.ts';
import { atTheEnd } from '../../fixtures/at-the-end.ts';
import { ORG_ID } from '../../fixtures/isolations.ts';
import { ownMark } from '../../../src/supervision/stray-processes.ts';
import type { OutgoingProxy } from '../../../src/network/outgoing-proxy.ts';
import { openSupervisors } from '../../../src/supervision/supervisors.ts';
import { limited, NO_WAY_OUT } from '../../fixtures/limited.ts';
import { observed } from '../observed.ts';
import { temporaryFolder } from './run-a-program.ts';
import { runFolders } from '../run-folders.ts';
import type { StartedRun, StartOptions } from '../runner-conformance.ts';
import { NO_CODE } from '../../fixtures/no-code.ts';

const SLOTS = [0, 1].map((index) => ({ index, gpu: 'A10G', device: String(index) }) as const);

export const PROGRAMS = join(import.meta.dirname, 'programs');

export const bareProgram = (env: Readonly<Record<string, string>> = {}): ResidentProgram => ({
  command: process.execPath,
  args: [join(PROGRAMS, 'bare.mjs')],
  env,
  limits: { startTimeoutMs: 60_000, idleTimeoutMs: null, maxRuns: null, preload: false },
});

export interface StartedResidentRun extends StartedRun {
  /** The work folder of its process, which is not that of a run here. */
  readonly processFolder: string;
}

interface Options {
  readonly isolation?: Isolation;
  readonly graceMs?: number;
  readonly proxy?: OutgoingProxy;
  /** With caches, in this folder of processes. */
  readonly cachesIn?: string;
  /** When it is aborted, the executor ends. */
  readonly closing?: AbortSignal;
}

/** A resident program as the executor has it: each run says in its inputs what it does. */
export const openResidentProgram = async (
  program: ResidentProgram,
  {
    isolation = noIsolation('chosen by the test'),
    graceMs = 60_000,
    proxy = NO_WAY_OUT,
    cachesIn,
    closing,
  }: Options = {},
): Promise<(workload: string, run?: StartOptions) => StartedResidentRun> => {
  const folder = temporaryFolder();
  const [workFolder, processFolder] = [join(folder, 'runs'), cachesIn ?? join(folder, 'processes')];
  for (const path of [workFolder, processFolder]) mkdirSync(path, { recursive: true });
  const logged: object[] = [];
  const note = (fields: object): void => void logged.push(fields);
  const log = { ...silentLogger, debug: note, info: note, warn: note };
  const mark = await ownMark(processFolder);
  const settings = { workFolder: processFolder, users: isolation.users, maxUnusedMs: Infinity, log };
  const caches = cachesIn === undefined ? NO_CACHES : openCaches({ ...settings, maxBytes: 1024 ** 3 });
  const supervisors = openSupervisors({
    ...limited,
    caches,
    proxy,
    isolation,
    mark,
    path: process.env.PATH ?? '',
    workFolder: processFolder,
    log,
  });
  const host = { env: process.env, workFolder: processFolder, supervisors, mark, log };
  const residents = openResidentProcesses({ ...host, stopGraceMs: 2_000 });
  const close = async (): Promise<void> => {
    await residents[Symbol.asyncDispose]();
    supervisors[Symbol.dispose]();
    caches[Symbol.dispose]();
  };
  closing?.addEventListener('abort', () => void close());
  atTheEnd(close);
  const runner = residentRunner(
    { ...host, executorName: 'box', slots: SLOTS, residents, fetchModel: NO_CODE, cancelGraceMs: graceMs },
    'test',
    program,
  );
  return (workload, run = {}) => {
    const { slot: index = 0, workflow = {}, inputs = {} } = run;
    const folders = runFolders(workFolder, run);
    const { observe, ...reported } = observed(run.mayBegin);
    const cancelling = new AbortController();
    const work: RunnerWork = {
      org_id: run.org_id ?? ORG_ID,
      deployment_id: null,
      run_id: newUuid(),
      workflow,
      inputs: { ...inputs, workload },
      gpu: 'A10G',
      attempt: 1,
      choice: { kind: 'program', program: 'test' },
      slot: SLOTS[index] ?? SLOTS[0] ?? { index, gpu: 'A10G', device: '' },
      ...folders,
      inputTargets: [],
      workflow_version_id: 'version',
      fetchCode: NO_CODE,
      fetchKeptModel: NO_CODE,
      traceparent: null,
    };
    const result = runner.run(work, observe, cancelling.signal);
    return {
      result,
      ...reported,
      logged,
      cancel: () => cancelling.abort(),
      ...folders,
      workFolder,
      processFolder,
    };
  };
};
