import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '@runledger/contracts/ids';
import { onTestFinished } from 'vitest';
import { programRunner } from '../../../src/runner/program/program-runner.ts';
import type { ProgressReport, RunResult } from '../../../src/runner/runner.ts';
import { processGroup, probeContainment, type Containment } from '../../../src/supervision/containment.ts';
import { ownMark } from '../../../src/supervision/process-mark.ts';
import type { StartedRun } from '../runner-conformance.ts';

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
  readonly program?: { command: string; args?: string[]; env?: Record<string, string> };
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
): Promise<(script: string, run?: { readonly slot?: number; readonly workflow?: unknown }) => StartedRun> => {
  const workFolder = temporaryFolder();
  const logged: object[] = [];
  const programs = new Map<string, { command: string; args: string[]; env: Record<string, string> }>();
  const runner = programRunner({
    programs,
    containment: options.containment ?? group,
    mark: await ownMark(workFolder),
    workFolder,
    cancelGraceMs: options.graceMs ?? 60_000,
    env: process.env,
    log: { debug: (fields) => logged.push(fields), warn: (fields) => logged.push(fields) },
  });
  return (script, { slot = 0, workflow = options.workflow ?? { kind: 'test' } } = {}) => {
    const outputDir = join(workFolder, slot === 0 ? 'outputs' : `outputs-${slot}`);
    mkdirSync(outputDir, { mode: 0o700 });
    const { command, args = [], env = {} } = options.program ?? { command: '/bin/sh', args: ['-c', script] };
    const program = `script${slot === 0 ? '' : slot}`;
    programs.set(program, { command, args, env });
    const reports: ProgressReport[] = [];
    const cancelling = new AbortController();
    const result = runner.run(
      {
        run_id: slot === 0 ? RUN_ID : newUuid(),
        workflow,
        inputs: { size: 512 },
        gpu: 'A10G',
        attempt: 2,
        choice: { kind: 'program', program },
        slot: { index: slot, gpu: 'A10G', device: options.device ?? '1' },
        outputDir,
        traceparent: options.traceparent ?? null,
      },
      { progress: (report) => reports.push(report) },
      cancelling.signal,
    );
    return { result, reports, logged, cancel: () => cancelling.abort(), outputDir, workFolder };
  };
};

export const run = async (script: string, options: Options = {}): Promise<RunResult> =>
  (await start(script, options)).result;
