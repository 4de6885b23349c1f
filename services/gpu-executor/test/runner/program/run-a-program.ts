import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { processGroup, probeContainment, type Containment } from '../../../src/supervision/containment.ts';
import { ownMark } from '../../../src/supervision/process-mark.ts';
import { programRunner } from '../../../src/runner/program/program-runner.ts';
import type { ProgressReport, RunResult } from '../../../src/runner/runner.ts';

/** Both ways in which a run is kept together, where this machine allows both. */
export const containments: [string, Containment][] = await (async () => {
  const group: [string, Containment] = ['in a process group', processGroup('chosen by the test')];
  const probed = await probeContainment();
  return probed.kind === 'namespace' ? [['in a PID namespace', probed], group] : [group];
})();

const group = processGroup('chosen by the test');

export interface Started {
  readonly result: Promise<RunResult>;
  readonly reports: ProgressReport[];
  readonly logged: object[];
  readonly cancel: () => void;
  readonly outputDir: string;
  readonly workFolder: string;
}

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
export const start = async (script: string, options: Options = {}): Promise<Started> => {
  const workFolder = temporaryFolder();
  const outputDir = join(workFolder, 'outputs');
  mkdirSync(outputDir, { mode: 0o700 });
  const reports: ProgressReport[] = [];
  const logged: object[] = [];
  const { command, args = [], env = {} } = options.program ?? { command: '/bin/sh', args: ['-c', script] };
  const runner = programRunner({
    programs: new Map([['script', { command, args, env }]]),
    containment: options.containment ?? group,
    mark: await ownMark(workFolder),
    workFolder,
    cancelGraceMs: options.graceMs ?? 60_000,
    env: process.env,
    log: { debug: (fields) => logged.push(fields), warn: (fields) => logged.push(fields) },
  });
  const cancelling = new AbortController();
  const result = runner.run(
    {
      run_id: '01920000-0000-7000-8000-00000000000b',
      workflow: options.workflow ?? { kind: 'test' },
      inputs: { size: 512 },
      gpu: 'A10G',
      attempt: 2,
      choice: { kind: 'program', program: 'script' },
      slot: { index: 0, gpu: 'A10G', device: options.device ?? '1' },
      outputDir,
      ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
    },
    { progress: (report) => reports.push(report) },
    cancelling.signal,
  );
  return { result, reports, logged, cancel: () => cancelling.abort(), outputDir, workFolder };
};

export const run = async (script: string, options: Options = {}): Promise<RunResult> =>
  (await start(script, options)).result;
