import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { findPython } from '@runledger/local-servers/python';
import { atTheEnd } from '../fixtures/at-the-end.ts';
import { harnessFiles } from '../../src/code/function-harness.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

type Files = Readonly<Record<string, string>>;

const writeFiles = (folder: string, files: Files): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
};

interface RunOfHarness {
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly inputFiles?: Files;
  /** Sent as soon as the run has put something out. */
  readonly cancelled?: boolean;
}

interface Ran {
  /** `[kind, values]`, in order. */
  readonly outputs: readonly (readonly [string, unknown])[];
  readonly progress: readonly unknown[];
  readonly result: Readonly<Record<string, unknown>>;
  /** The content of its output files. */
  readonly files: Files;
  readonly outputDir: string;
}

export const python = await findPython(process.env, { oldest: [3, 9], newest: [3, 14] });

/** A folder with these files and one with the harness, and the command that an executor starts. */
export const writeHarness = (
  run: string,
  files: Files,
): { readonly folder: string; readonly code: string; readonly command: readonly [string, ...string[]] } => {
  const folder = temporaryFolder();
  const [code, harness] = [join(folder, 'code'), join(folder, 'harness')];
  const { files: ours, command } = harnessFiles(run);
  writeFiles(code, files);
  writeFiles(harness, ours);
  const [name = '', ...args] = command.map((part) => part.replace('{harness}', harness));
  return { folder, code, command: [name === 'node' ? process.execPath : (python?.path ?? name), ...args] };
};

/** The function in a process of the harness, and its runs one after the other. */
export const runHarness = async (
  run: string,
  files: Files,
  runs: readonly RunOfHarness[] = [],
): Promise<{ readonly ran: readonly Ran[]; readonly log: string; readonly exitCode: number | null }> => {
  const {
    folder,
    code,
    command: [name, ...args],
  } = writeHarness(run, files);
  mkdirSync(join(folder, 'tmp'));
  const env = { PATH: process.env['PATH'], TMPDIR: join(folder, 'tmp'), PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn(name, args, { cwd: code, env });
  atTheEnd(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  // What is printed before it is ready comes among the messages.
  let log = '';
  child.stderr.on('data', (text) => (log += String(text)));
  child.stdin.on('error', () => undefined);
  const messages = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown> | undefined> => {
    for (;;) {
      const { value, done } = await messages.next();
      if (done === true) return undefined;
      if (value.startsWith('{')) return JSON.parse(value);
      log += `${value}\n`;
    }
  };
  const ran: Ran[] = [];
  const ready = await next();
  for (const [index, each] of ready === undefined ? [] : runs.entries()) {
    const [inputDir, outputDir] = [join(folder, `inputs-${index}`), join(folder, `outputs-${index}`)];
    writeFiles(inputDir, each.inputFiles ?? {});
    const about = { attempt: 1, workflow: {}, gpu: 'A10G', output_dir: outputDir, input_dir: inputDir };
    const run_id = `run-${index}`;
    child.stdin.write(`${JSON.stringify({ type: 'run', run_id, inputs: each.inputs ?? {}, ...about })}\n`);
    const outputs: [string, unknown][] = [];
    const progress: unknown[] = [];
    for (;;) {
      const message = await next();
      if (message === undefined) break;
      const { type, run_id: _, ...members } = message;
      if (type === 'output') outputs.push(...Object.entries(members));
      else if (type === 'progress') progress.push(members['progress']);
      else {
        const found = existsSync(outputDir)
          ? readdirSync(outputDir, { recursive: true, withFileTypes: true })
          : [];
        const contents = found
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .map((path) => [path.slice(outputDir.length + 1), readFileSync(path, 'utf8')] as const);
        ran.push({ outputs, progress, result: message, outputDir, files: Object.fromEntries(contents) });
        break;
      }
      if (each.cancelled === true && outputs.length === 1)
        child.stdin.write(`${JSON.stringify({ type: 'cancel', run_id })}\n`);
    }
  }
  child.stdin.end();
  const [exitCode] = await ended;
  return { ran, log, exitCode };
};
