import { newUuid } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { openResidentProcesses } from '../../src/residents/resident-processes.ts';
import type {
  ConfiguredHost,
  ConfiguredRunner,
  InvalidSettings,
  OpenRunner,
} from '../../src/runners/runner-type.ts';
import type { GpuSlot } from '../../src/gpu-slots.ts';
import type { RunnerWork } from '../../src/runners/runner.ts';
import { noIsolation } from '../../src/isolation/choose-isolation.ts';
import type { Isolation } from '../../src/isolation/isolation.ts';
import { ownMark } from '../../src/supervision/stray-processes.ts';
import { openSupervisors } from '../../src/supervision/supervisors.ts';
import { openCaches } from '../../src/folders/caches.ts';
import { limited } from '../fixtures/limited.ts';
import { atTheEnd } from '../fixtures/at-the-end.ts';
import { ORG_ID } from '../fixtures/isolations.ts';
import { observed } from './observed.ts';
import { temporaryFolder } from './program/run-a-program.ts';
import { runFolders } from './run-folders.ts';
import type { StartedRun, StartOptions } from './runner-conformance.ts';
import type { FetchUrl } from '../../src/transfer/fetch-url.ts';
import { NO_CODE } from '../fixtures/no-code.ts';

export interface ConfiguredRun extends StartOptions {
  /** Instead of the usual one. */
  readonly choice?: RunnerWork['choice'];
  readonly inputTargets?: RunnerWork['inputTargets'];
  readonly fetchCode?: RunnerWork['fetchCode'];
  readonly fetchKeptModel?: RunnerWork['fetchKeptModel'];
  readonly workflow_version_id?: string;
}

export interface ConfiguredRuns {
  readonly runner: OpenRunner;
  readonly slots: readonly GpuSlot[];
  readonly start: (workflow: unknown, options?: ConfiguredRun) => StartedRun & { readonly run_id: string };
  readonly logged: readonly object[];
  /** Of the executor. */
  readonly workFolder: string;
}

export interface ConfiguredOptions {
  readonly slots: number;
  readonly graceMs: number;
  readonly choice: RunnerWork['choice'];
  readonly configure: (host: ConfiguredHost) => Promise<ConfiguredRunner | InvalidSettings>;
  /** None without it. */
  readonly isolation?: Isolation | undefined;
  /** That of the tests without it. */
  readonly path?: string;
  /** An empty one without it. */
  readonly workFolder?: string;
  /** For programs; they have no caches without it. */
  readonly cacheBytes?: number;
  readonly fetchModel?: FetchUrl;
  /** Of the slots: a card each without it. */
  readonly device?: string;
}

/** A runner as an executor with its settings has it, with so many slots. */
export const openConfigured = async (options: ConfiguredOptions): Promise<ConfiguredRuns> => {
  const { graceMs, choice, configure } = options;
  const slots = Array.from(
    { length: options.slots },
    (_, index) => ({ index, gpu: 'A10G', device: options.device ?? String(index) }) as const,
  );
  const logged: object[] = [];
  const log = {
    ...silentLogger,
    debug: (fields: object) => logged.push(fields),
    info: (fields: object) => logged.push(fields),
    warn: (fields: object) => logged.push(fields),
  };
  const env = { PATH: options.path ?? process.env['PATH'] };
  const configured = await configure({ ...env, slots });
  if ('problems' in configured) throw new Error(JSON.stringify(configured.problems));

  const hostFolder = options.workFolder ?? temporaryFolder();
  const isolation = options.isolation ?? noIsolation('chosen by the test');
  const mark = await ownMark(hostFolder);
  const supervisors = openSupervisors({
    ...limited,
    isolation,
    caches:
      options.cacheBytes === undefined
        ? limited.caches
        : openCaches({
            workFolder: hostFolder,
            users: isolation.users,
            maxBytes: options.cacheBytes,
            maxUnusedMs: 86_400_000,
            log,
          }),
    mark,
    path: env.PATH ?? '',
    workFolder: hostFolder,
    log,
  });
  const processes = { env, workFolder: hostFolder, supervisors, mark, log };
  const residents = openResidentProcesses({ ...processes, stopGraceMs: 5_000 });
  atTheEnd(async () => {
    await residents[Symbol.asyncDispose]();
    supervisors[Symbol.dispose]();
  });
  const runner: OpenRunner = configured.open({
    ...processes,
    executorName: 'box',
    slots,
    residents,
    fetchModel: options.fetchModel ?? NO_CODE,
    cancelGraceMs: graceMs,
  });
  return {
    runner,
    slots,
    logged,
    workFolder: hostFolder,
    start: (workflow, run = {}) => startRun(runner, { workflow, logged, run: { choice, ...run } }),
  };
};

interface Start {
  readonly workflow: unknown;
  readonly logged: readonly object[];
  readonly run: ConfiguredRun & Pick<RunnerWork, 'choice'>;
}

const startRun = (
  runner: OpenRunner,
  { workflow, logged, run }: Start,
): ReturnType<ConfiguredRuns['start']> => {
  const { slot = 0, inputs = {}, inputTargets = [], mayBegin, choice } = run;
  const workFolder = temporaryFolder();
  const folders = runFolders(workFolder, run);
  const { observe, ...reported } = observed(mayBegin);
  const cancelling = new AbortController();
  const work: RunnerWork = {
    org_id: run.org_id ?? ORG_ID,
    deployment_id: run.deployment_id ?? null,
    run_id: newUuid(),
    workflow,
    inputs,
    inputTargets,
    gpu: 'A10G',
    attempt: 1,
    workflow_version_id: run.workflow_version_id ?? 'version',
    fetchCode: run.fetchCode ?? NO_CODE,
    fetchKeptModel: run.fetchKeptModel ?? NO_CODE,
    traceparent: null,
    choice,
    slot: { index: slot, gpu: 'A10G', device: String(slot) },
    ...folders,
  };
  const result = runner.run(work, observe, cancelling.signal);
  const { run_id } = work;
  return { result, run_id, ...reported, logged, cancel: () => cancelling.abort(), ...folders, workFolder };
};
