import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { OperatorCommand } from '../../../src/runners/operator-command.ts';
import { programRunner } from '../../../src/runners/program/program-runner.ts';
import type { RunResult } from '../../../src/runners/runner.ts';
import { noIsolation } from '../../../src/isolation/choose-isolation.ts';
import type { Isolation, Withheld } from '../../../src/isolation/isolation.ts';
import { NO_CACHES, openCaches, type CachesSettings } from '../../../src/folders/caches.ts';
import { atTheEnd } from '../../fixtures/at-the-end.ts';
import { ORG_ID } from '../../fixtures/isolations.ts';
import { ownMark } from '../../../src/supervision/stray-processes.ts';
import { openSupervisors } from '../../../src/supervision/supervisors.ts';
import { BY_RLIMITS, NO_WAY_OUT, NOTHING_WITHHELD, SOME_LIMITS } from '../../fixtures/limited.ts';
import type { OutgoingProxy } from '../../../src/network/outgoing-proxy.ts';
import type { Enforcement } from '../../../src/supervision/enforcement.ts';
import type { ProgramLimits } from '../../../src/supervision/program-limits.ts';
import { runFolders } from '../run-folders.ts';
import { observed } from '../observed.ts';
import type { StartedRun, StartOptions } from '../runner-conformance.ts';
import { NO_CODE } from '../../fixtures/no-code.ts';

const group = noIsolation('chosen by the test');
const DEPLOYMENT_ID = '01920000-0000-7000-8000-0000000000dd';
const RUN_ID = '01920000-0000-7000-8000-00000000000b';

export interface Options {
  readonly isolation?: Isolation;
  readonly enforcement?: Enforcement;
  readonly limits?: Partial<ProgramLimits>;
  readonly proxy?: OutgoingProxy;
  readonly withheld?: Withheld;
  /** Programs have no caches without it. */
  readonly caches?: Pick<CachesSettings, 'maxBytes'> & Partial<CachesSettings>;
  /** When it is aborted, the executor ends. */
  readonly closing?: AbortSignal | undefined;
  /** An empty one without it. */
  readonly placeFolder?: string;
  readonly graceMs?: number;
  readonly workflow?: unknown;
  readonly program?: Pick<OperatorCommand, 'command'> & Partial<OperatorCommand>;
  readonly device?: string;
  readonly libraries?: readonly string[];
  readonly traceparent?: string;
}

interface StartedProgram extends StartedRun {
  /** With the places of the programs. */
  readonly placeFolder: string;
}

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-executor-'));
  // Programs may have another user.
  chmodSync(folder, 0o711);
  // A program that was ended a moment ago may still write there.
  atTheEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  return folder;
};

/** For an entry that names it as writable, whatever user its programs have. */
export const writableFolder = (): string => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o777);
  return folder;
};

/** Starts a program, by default a shell script, as the executor would. */
export const start = async (script: string, options: Options = {}): Promise<StartedProgram> =>
  (await openPrograms(options))(script);

/** One runner, for several runs; each run has an output folder of its own. */
export const openPrograms = async (
  options: Options = {},
): Promise<(script: string, run?: StartOptions) => StartedProgram> => {
  const folder = temporaryFolder();
  const [workFolder, placeFolder] = [join(folder, 'runs'), options.placeFolder ?? join(folder, 'places')];
  for (const path of [workFolder, placeFolder]) mkdirSync(path, { recursive: true });
  const logged: object[] = [];
  const programs = new Map<string, OperatorCommand>();
  const mark = await ownMark(workFolder);
  const log = {
    ...silentLogger,
    debug: (fields: object) => logged.push(fields),
    info: (fields: object, message: string) => logged.push({ ...fields, message }),
    warn: (fields: object) => logged.push(fields),
  };
  const isolation = options.isolation ?? group;
  const { users } = isolation;
  const caches = options.caches
    ? openCaches({ workFolder: placeFolder, users, maxUnusedMs: Infinity, log, ...options.caches })
    : NO_CACHES;
  const supervisors = openSupervisors({
    caches,
    enforcement: options.enforcement ?? BY_RLIMITS,
    limits: { ...SOME_LIMITS, ...options.limits },
    proxy: options.proxy ?? NO_WAY_OUT,
    withheld: options.withheld ?? NOTHING_WITHHELD,
    isolation,
    mark,
    path: process.env.PATH ?? '',
    workFolder: placeFolder,
    log,
  });
  const close = (): void => {
    supervisors[Symbol.dispose]();
    caches[Symbol.dispose]();
  };
  options.closing?.addEventListener('abort', close);
  atTheEnd(close);
  const runner = programRunner({
    programs,
    supervisors,
    mark,
    cancelGraceMs: options.graceMs ?? 60_000,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'Asia/Tokyo', OMP_NUM_THREADS: '3' },
    log,
  });
  return (script, run = {}) => {
    const { slot = 0, workflow = options.workflow ?? { kind: 'test' }, inputs = { size: 512 } } = run;
    const folders = runFolders(workFolder, run);
    const entry = options.program ?? { command: '/bin/sh', args: ['-c', script] };
    const program = `script${slot === 0 ? '' : slot}`;
    programs.set(program, { args: [], env: {}, ...entry });
    const { observe, ...reported } = observed(run.mayBegin);
    const cancelling = new AbortController();
    const result = runner.run(
      {
        org_id: run.org_id ?? ORG_ID,
        deployment_id: run.deployment_id ?? DEPLOYMENT_ID,
        run_id: slot === 0 ? RUN_ID : newUuid(),
        workflow,
        inputs,
        gpu: 'A10G',
        attempt: 2,
        choice: { kind: 'program', program },
        slot: {
          index: slot,
          gpu: 'A10G',
          device: options.device ?? '1',
          ...(options.libraries && { libraries: options.libraries }),
        },
        ...folders,
        inputTargets: [],
        workflow_version_id: 'version',
        fetchCode: NO_CODE,
        fetchKeptModel: NO_CODE,
        traceparent: options.traceparent ?? null,
      },
      observe,
      cancelling.signal,
    );
    return {
      result,
      ...reported,
      logged,
      cancel: () => cancelling.abort(),
      ...folders,
      workFolder,
      placeFolder,
    };
  };
};

export const run = async (script: string, options: Options = {}): Promise<RunResult> =>
  (await start(script, options)).result;
