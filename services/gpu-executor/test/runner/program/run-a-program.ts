import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '@runledger/contracts/ids';
import { onTestFinished } from 'vitest';
import type { OperatorCommand } from '../../../src/runner/operator-command.ts';
import { programRunner } from '../../../src/runner/program/program-runner.ts';
import type { RunResult } from '../../../src/runner/runner.ts';
import { processGroup, probeContainment, type Containment } from '../../../src/supervision/containment.ts';
import { ownMark } from '../../../src/supervision/process-mark.ts';
import { openSupervisors } from '../../../src/supervision/supervisors.ts';
import { runFolders } from '../run-folders.ts';
import { observed } from '../observed.ts';
import type { StartedRun, StartOptions } from '../runner-conformance.ts';

/** Both ways in which the processes of a run are kept together, where this machine allows both. */
export const containments: [string, Containment][] = await (async () => {
  const group: [string, Containment] = ['in a process group', processGroup('chosen by the test')];
  const probed = await probeContainment();
  return probed.kind === 'namespace' ? [['in a PID namespace', probed], group] : [group];
})();

const group = processGroup('chosen by the test');
const RUN_ID = '01920000-0000-7000-8000-00000000000b';

export interface Options {
  readonly containment?: Containment;
  readonly graceMs?: number;
  readonly workflow?: unknown;
  readonly program?: Pick<OperatorCommand, 'command'> & Partial<OperatorCommand>;
  readonly device?: string;
  readonly traceparent?: string;
}

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-executor-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Starts a program, by default a shell script, as the executor would. */
export const start = async (script: string, options: Options = {}): Promise<StartedRun> =>
  (await openPrograms(options))(script);

/** One runner, for several runs; each run has an output folder of its own. */
export const openPrograms = async (
  options: Options = {},
): Promise<(script: string, run?: StartOptions) => StartedRun> => {
  const workFolder = temporaryFolder();
  const logged: object[] = [];
  const programs = new Map<string, OperatorCommand>();
  const mark = await ownMark(workFolder);
  const supervisors = openSupervisors(options.containment ?? group, mark, process.env.PATH ?? '');
  onTestFinished(() => supervisors[Symbol.dispose]());
  const runner = programRunner({
    programs,
    supervisors,
    mark,
    workFolder,
    cancelGraceMs: options.graceMs ?? 60_000,
    env: process.env,
    log: { debug: (fields) => logged.push(fields), warn: (fields) => logged.push(fields) },
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
        run_id: slot === 0 ? RUN_ID : newUuid(),
        workflow,
        inputs,
        gpu: 'A10G',
        attempt: 2,
        choice: { kind: 'program', program },
        slot: { index: slot, gpu: 'A10G', device: options.device ?? '1' },
        ...folders,
        inputTargets: [],
        traceparent: options.traceparent ?? null,
      },
      observe,
      cancelling.signal,
    );
    return { result, ...reported, logged, cancel: () => cancelling.abort(), ...folders, workFolder };
  };
};

export const run = async (script: string, options: Options = {}): Promise<RunResult> =>
  (await start(script, options)).result;
