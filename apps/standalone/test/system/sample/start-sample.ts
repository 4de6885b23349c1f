import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFile } from '@runledger/service-kit/program-file';
import { onTestFinished } from 'vitest';
import { SEAHORSE_VALLEY } from '../../../src/sample/render-scene.ts';

const program = programFile(
  fileURLToPath(new URL('../../../src/sample/render-image.ts', import.meta.url)),
  process.env,
);

export interface Sample {
  readonly outputFolder: string;
  /** The lines of standard output so far. */
  readonly lines: () => readonly string[];
  readonly stderr: () => string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** Starts the sample as an executor does; `stdin` in place of a run's JSON when it is a text. */
export const startSample = (
  inputs: unknown,
  options: { stdin?: string; workflow?: unknown } = {},
): Sample => {
  const outputFolder = mkdtempSync(join(tmpdir(), 'runledger-sample-'));
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'] ?? '', RUNLEDGER_OUTPUT_DIR: outputFolder },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(outputFolder, { recursive: true, force: true });
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const workflow = options.workflow ?? { scene: SEAHORSE_VALLEY };
  const run = { run_id: '01920000-0000-7000-8000-00000000000b', workflow, inputs, gpu: 'A10G', attempt: 1 };
  child.stdin.end(options.stdin ?? JSON.stringify(run));
  return {
    outputFolder,
    lines: () => stdout.split('\n').filter((line) => line !== ''),
    stderr: () => stderr,
    exited: once(child, 'close').then(([code, signal]) => ({ code, signal })),
    kill: (signal) => void child.kill(signal),
  };
};
