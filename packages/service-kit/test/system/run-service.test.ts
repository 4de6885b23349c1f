import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFailed, onTestFinished, vi } from 'vitest';

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));

interface Program {
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly write: (line: string) => void;
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves as soon as the program has written `text`; a program that ends without it fails the test. */
  readonly wrote: (text: string) => Promise<void>;
  readonly exit: () => Promise<number | NodeJS.Signals | null>;
}

const run = (script: string, args: readonly string[]): Program => {
  const child = spawn(process.execPath, [fixture(script), ...args], { stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.on('error', () => {});
  const closed = once(child, 'close');
  return {
    kill: (signal) => void child.kill(signal),
    write: (line) => void child.stdin.write(`${line}\n`),
    output: () => output,
    errors: () => errors,
    wrote: (text) =>
      vi.waitUntil(() => output.includes(text), { timeout: 20_000, interval: 10 }).then(() => {}),
    exit: async () => {
      await closed;
      return child.exitCode ?? child.signalCode;
    },
  };
};

const service = (behaviour: string, stopWithinMs = 30_000): Program =>
  run('process-under-test', [behaviour, String(stopWithinMs)]);

/** For a service that outlived its parent although it must not. */
const endProcess = (announced: unknown): void => {
  if (typeof announced !== 'object' || announced === null || !('pid' in announced)) return;
  if (typeof announced.pid === 'number') process.kill(announced.pid, 'SIGKILL');
};

describe('a running service', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'closes in reverse order on %s and exits with 0',
    async (signal) => {
      const program = service('ordinary');
      await program.wrote('up');
      program.kill(signal);
      await program.wrote('closing second');
      program.write('go');
      expect(await program.exit()).toBe(0);
      const output = program
        .output()
        .split('\n')
        .filter((line) => !line.startsWith('{'));
      expect(output.join(' ')).toBe('up stopping closing second closed second closed first ');
      expect(program.output()).toContain(`stopping: ${signal} was received`);
      expect(program.errors()).toBe('');
    },
  );

  it.each([
    ['SIGINT', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
  ] as const)('takes %s followed by %s for one request to stop', async (first, second) => {
    const program = service('ordinary');
    await program.wrote('up');
    program.kill(first);
    await program.wrote('closing second');
    program.kill(second);
    await program.wrote(`${second} ignored`);
    program.write('go');
    expect(await program.exit()).toBe(0);
    expect(program.output()).toContain('closed first');
  });

  it('exits with 1 at the deadline and logs the resource that it waited for', async () => {
    const program = service('hangs in the stop', 50);
    await program.wrote('up');
    program.kill('SIGTERM');
    expect(await program.exit()).toBe(1);
    expect(program.output()).toMatch(
      /"waited_for":"the stuck one \(opened as number 1, .*process-under-test\.ts:\d+/,
    );
  });

  it('closes the other resources if one fails to close, and exits with 1', async () => {
    const program = service('fails to close');
    await program.wrote('up');
    program.kill('SIGTERM');
    expect(await program.exit()).toBe(1);
    expect(program.output()).toContain('closed first');
    expect(program.output()).toMatch(/failed to close: the broken one.*cannot flush/);
  });

  it.each(['throws', 'rejects'])('exits with 1 after an unhandled error: it %s', async (behaviour) => {
    const program = service(behaviour);
    expect(await program.exit()).toBe(1);
    expect(program.output()).toMatch(/"level":"fatal".*a bug/);
    expect(program.output()).toContain('\nclosed\n');
  });
});

describe('a starting service', () => {
  it('closes the opened resources if the start fails, logs the reason, and exits with 1', async () => {
    const program = service('fails to start');
    expect(await program.exit()).toBe(1);
    expect(program.output()).toContain('fixture could not start: the broker does not answer');
    expect(program.output()).toContain('closed\n');
  });

  it('prints a wrong configuration as readable lines without secrets and exits with 78', async () => {
    const program = service('has a wrong configuration');
    expect(await program.exit()).toBe(78);
    expect(program.errors()).toMatch(
      /^fixture cannot start: the configuration has one problem:\n {2}KEY .*signs tokens/,
    );
    expect(program.output() + program.errors()).not.toContain('hunter2');
    expect(program.output()).toContain('closed\n');
  });

  it('ends its waiting on a stop signal, and exits with 0', async () => {
    const program = service('waits in the start');
    await program.wrote('up');
    program.kill('SIGTERM');
    expect(await program.exit()).toBe(0);
    expect(program.output()).toContain('closed\n');
  });

  it('exits with 1 at the deadline if it ignores the stop signal, and logs that', async () => {
    const program = service('hangs in the start', 50);
    await program.wrote('up');
    program.kill('SIGTERM');
    expect(await program.exit()).toBe(1);
    expect(program.output()).toContain('waited for: the start');
  });
});

describe('a forked service', () => {
  it('announces its address, and stops when its parent is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'service-kit-lifecycle-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const childOutput = join(folder, 'output');
    const file = openSync(childOutput, 'w');
    onTestFinished(() => closeSync(file));
    const output = (): string => readFileSync(childOutput, 'utf8');
    const parent = spawn(process.execPath, [fixture('parent'), '3'], {
      stdio: ['ignore', 'pipe', 'pipe', file],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));

    if (parent.stdout === null || parent.stderr === null) throw new Error('the parent has no pipes');
    const announced: unknown = JSON.parse(String((await once(parent.stdout, 'data'))[0]));
    expect(announced).toEqual({
      pid: expect.any(Number),
      message: { type: 'listening', http: 'http://127.0.0.1:1234' },
    });
    await vi.waitUntil(() => output().includes('"started"'), { timeout: 20_000 });
    parent.kill('SIGKILL');
    onTestFailed(() => endProcess(announced));
    // Its standard error is a pipe that the service holds open until it has exited.
    await once(parent.stderr.resume(), 'close');
    expect(output()).toContain('the parent process has ended');
    expect(output()).toContain('closed\n');
    expect(output()).toContain('"stopped"');
  });
});
