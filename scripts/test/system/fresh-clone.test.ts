import { execFile, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { killWithParent } from '@runledger/local-servers/process/kill-with-parent';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..', '..');
const NOBODY = 65534;
/** Some of the packages that npm start does not install. */
const ONLY_TESTS_NEED = ['vitest', 'testcontainers', 'ajv', 'typescript'];
const INSTALLED_WITHIN_MS = 300_000;

const isRoot = process.getuid?.() === 0;
/** A user without privileges. A root user who runs the suite on a fresh clone tests that case with the suite itself. */
const identity: SpawnOptions = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Installs all packages from the registries, which takes a minute. */
describe('a fresh clone, for a user without privileges', () => {
  let folder: string;
  let clone: string;
  let newcomer: SpawnOptions;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'runledger-fresh-clone-'));
    clone = join(folder, 'runledger');
    const home = join(folder, 'home');
    await run('git', ['clone', '--quiet', ROOT, clone]);
    await run('mkdir', [home]);
    // A newcomer has only the Node of the system, not the tools of this test run.
    const path = (process.env['PATH'] ?? '')
      .split(delimiter)
      .filter((entry) => !entry.includes('node_modules'));
    if (identity.uid !== undefined) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, folder]);
    newcomer = {
      cwd: clone,
      env: { PATH: path.join(delimiter), HOME: home, RUNLEDGER_PORT: '0' },
      ...identity,
      stdio: ['ignore', 'pipe', 'pipe'],
    };
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true, force: true }), 60_000);

  const say = async (command: string, args: readonly string[]): Promise<{ code: number; output: string }> => {
    const child = spawn(command, args, newcomer);
    if (!child.stdout || !child.stderr) throw new Error(`${command} has no pipes`);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code: Number(code), output: `${out}${err}` };
  };

  it('runs the sample to success after npm start', { timeout: INSTALLED_WITHIN_MS * 1.5 }, async () => {
    // A separate process group, as in a terminal.
    const started = spawn('npm', ['start'], { ...newcomer, detached: true });
    killWithParent(started, 'group');
    const signalAll = (signal: NodeJS.Signals): void => void process.kill(-Number(started.pid), signal);
    let output = '';
    for (const stream of [started.stdout, started.stderr])
      stream?.on('data', (chunk) => (output += String(chunk)));
    const ended = once(started, 'close');
    onTestFinished(() => {
      if (started.exitCode === null && started.signalCode === null) signalAll('SIGKILL');
    });
    const isOver = (): boolean => output.includes('Runledger is ready.') || started.exitCode !== null;
    await waitFor('Runledger to be ready', isOver, { withinMs: INSTALLED_WITHIN_MS });
    expect(output).toContain('Runledger is ready.');
    const packages = await readdir(join(clone, 'node_modules'));
    expect(packages.filter((name) => ONLY_TESTS_NEED.includes(name))).toEqual([]);

    const watched = await say('npx', ['runledger', 'queue', '--watch', '--input', 'seconds=1']);
    expect(watched.output).toContain('success after');
    expect(watched.code).toBe(0);

    // Ctrl-C: the terminal signals the whole group, and npm forwards the signal once more.
    signalAll('SIGINT');
    await ended;
    expect(output).toMatch(/Stopping\.\nStopped\.\n$/);
    expect(existsSync(join(clone, '.runledger', 'connection.json'))).toBe(false);
  });

  it('passes tests against real servers with npm test', { timeout: INSTALLED_WITHIN_MS * 1.5 }, async () => {
    const tested = await say('npm', ['test', '--', 'packages/testing']);
    expect(tested.output).toMatch(/\n\d+ passed, 0 failed/);
    expect(tested.code).toBe(0);
  });
});
