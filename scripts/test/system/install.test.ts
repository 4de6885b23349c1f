import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtempDisposable, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..', '..');
const SCRIPTS = ['install.mjs', 'node24.mjs'];

/** A repository with the package `used`, and the package `tested` for tests. Their install scripts would leave files. */
const openRepository = async () => {
  const temporary = await mkdtempDisposable(join(tmpdir(), 'runledger-install-'));
  const at = (...path: string[]): string => join(temporary.path, 'clone', ...path);
  // npm would note in the clone that it had installed what it only wrote into the lock file.
  const origin = (...path: string[]): string => join(temporary.path, 'origin', ...path);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: temporary.path,
    npm_config_offline: 'true',
  };

  const pack = async (name: string, version: string): Promise<void> => {
    const manifest = { name, version, scripts: { postinstall: `touch ${at(`script-of-${name}`)}` } };
    await mkdir(origin('package'), { recursive: true });
    await writeFile(origin('package', 'package.json'), JSON.stringify(manifest));
    await run('tar', ['-czf', `${name}-${version}.tgz`, 'package'], { cwd: origin() });
    await rm(origin('package'), { recursive: true });
  };
  /** Pulls a package-lock.json with this version of `used`. */
  const pull = async (versionOfUsed: string): Promise<void> => {
    await pack('used', versionOfUsed);
    const dependencies = { used: `file:used-${versionOfUsed}.tgz` };
    const devDependencies = { tested: 'file:tested-1.0.0.tgz' };
    await writeFile(origin('package.json'), JSON.stringify({ name: 'root', dependencies, devDependencies }));
    await run('npm', ['install', '--package-lock-only', '--ignore-scripts'], { cwd: origin(), env });
    await cp(origin(), at(), { recursive: true });
  };
  await pack('tested', '1.0.0');
  await pull('1.0.0');
  await Promise.all(SCRIPTS.map((name) => cp(join(ROOT, 'scripts', name), at('scripts', name))));

  return {
    pull,
    at,
    /** The version of an installed package. */
    installed: async (name: string): Promise<string | undefined> => {
      const path = at('node_modules', name, 'package.json');
      if (!existsSync(path)) return undefined;
      const { version }: { version?: string } = JSON.parse(await readFile(path, 'utf8'));
      return version;
    },
    /** Installs what is missing. Returns whether everything is there then. */
    install: async (options: { readonly omitDev?: boolean } = {}, more: NodeJS.ProcessEnv = {}) => {
      const program = `import('./scripts/install.mjs').then(({ installWhenNeeded }) =>
        process.exit(installWhenNeeded(${JSON.stringify(options)}) ? 0 : 1))`;
      const child = run(process.execPath, ['--eval', program], {
        cwd: at(),
        env: { ...env, ...more },
      });
      return child.then(
        () => true,
        () => false,
      );
    },
    /** An environment in which npm is this shell script. */
    withNpm: async (script: string): Promise<NodeJS.ProcessEnv> => {
      await mkdir(at('bin'), { recursive: true });
      await writeFile(at('bin', 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return { PATH: [at('bin'), process.env['PATH']].join(delimiter) };
    },
    [Symbol.asyncDispose]: () => temporary.remove(),
  };
};

const PROGRAMS = { omitDev: true };

describe('the install of a first start', () => {
  it('has nothing that only tests need, and runs no script of a package', async () => {
    await using repository = await openRepository();
    expect(await repository.install(PROGRAMS)).toBe(true);
    expect(await repository.installed('used')).toBe('1.0.0');
    expect(await repository.installed('tested')).toBeUndefined();
    expect(existsSync(repository.at('script-of-used'))).toBe(false);
  });

  it('is needed once: the next start calls no npm', async () => {
    await using repository = await openRepository();
    await repository.install(PROGRAMS);
    expect(await repository.install(PROGRAMS, await repository.withNpm('exit 1'))).toBe(true);
  });

  it('is repeated from the beginning if it was interrupted', async () => {
    await using repository = await openRepository();
    await repository.install();
    await repository.pull('2.0.0');
    const interrupted = await repository.withNpm('rm -r node_modules/tested; kill -KILL $$');
    expect(await repository.install(PROGRAMS, interrupted)).toBe(false);
    // The lock file names what was there before: it does not count.
    await repository.pull('1.0.0');
    expect(await repository.install()).toBe(true);
    expect(await repository.installed('used')).toBe('1.0.0');
    expect(await repository.installed('tested')).toBe('1.0.0');
  });
});

describe('the install of a test run after a start', () => {
  it('adds what tests need, runs no script, and leaves what a running program uses', async () => {
    await using repository = await openRepository();
    await repository.install(PROGRAMS);
    const used = await stat(repository.at('node_modules', 'used'));
    expect(await repository.install({}, { NODE_ENV: 'production' })).toBe(true);
    expect(await repository.installed('tested')).toBe('1.0.0');
    expect((await stat(repository.at('node_modules', 'used'))).ino).toBe(used.ino);
    for (const name of ['used', 'tested']) expect(existsSync(repository.at(`script-of-${name}`))).toBe(false);
  });

  it('changes neither package.json nor package-lock.json', async () => {
    await using repository = await openRepository();
    const files = ['package.json', 'package-lock.json'];
    const contents = () => Promise.all(files.map((file) => readFile(repository.at(file), 'utf8')));
    const before = await contents();
    await repository.install(PROGRAMS);
    await repository.install();
    expect(await contents()).toEqual(before);
  });

  it('is kept by later starts, even by one that installs another version of a package', async () => {
    await using repository = await openRepository();
    await repository.install();
    expect(await repository.install(PROGRAMS, await repository.withNpm('exit 1'))).toBe(true);
    await repository.pull('2.0.0');
    expect(await repository.install(PROGRAMS)).toBe(true);
    expect(await repository.installed('used')).toBe('2.0.0');
    expect(await repository.installed('tested')).toBe('1.0.0');
  });
});
