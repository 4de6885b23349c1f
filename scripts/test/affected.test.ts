import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const TURBO = join(ROOT, 'node_modules', '.bin', 'turbo');
const COPIED = ['package.json', 'package-lock.json', 'turbo.json', '.gitignore', '*/*/{package,turbo}.json'];
const IDENTITY = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
/** Without variables of a CI, from which turbo would take another base than the branch main. */
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], TURBO_TELEMETRY_DISABLED: '1' };

const Plan = Type.Object({ tasks: Type.Array(Type.Object({ task: Type.String(), package: Type.String() })) });

/** A repository with the workspaces of this one, but without their code, on a branch of main. */
const repository = async () => {
  const folder = await mkdtempDisposable(join(tmpdir(), 'runledger-affected-'));
  const git = (...args: string[]) => run('git', [...IDENTITY, ...args], { cwd: folder.path, env });
  for (const file of globSync(COPIED, { cwd: ROOT, exclude: ['node_modules'] })) {
    await mkdir(join(folder.path, dirname(file)), { recursive: true });
    await cp(join(ROOT, file), join(folder.path, file));
  }
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '.');
  await git('commit', '--quiet', '--message=main');
  await git('switch', '--quiet', '--create=change');
  return {
    change: async (file: string): Promise<void> => {
      await mkdir(join(folder.path, dirname(file)), { recursive: true });
      await appendFile(join(folder.path, file), '// a change\n');
    },
    commit: async (): Promise<void> => {
      await git('add', '.');
      await git('commit', '--quiet', '--message=change');
    },
    /** The workspaces whose tests `npm test -- --affected` runs. */
    affected: async (): Promise<string[]> => {
      const args = ['run', 'test', '--affected', '--dry=json'];
      const { stdout } = await run(TURBO, args, { cwd: folder.path, env });
      const { tasks } = Value.Parse(Plan, JSON.parse(stdout));
      return tasks
        .filter(({ task }) => task === 'test')
        .map((each) => each.package.replace('@runledger/', ''));
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

const APPS = ['bench', 'cli', 'console', 'replay', 'simulate', 'soak', 'standalone'];

describe('npm test -- --affected', () => {
  it('selects no workspace without a change', async () => {
    await using made = await repository();
    expect(await made.affected()).toEqual([]);
  });

  it('selects a changed service and the apps that depend on it', async () => {
    await using made = await repository();
    await made.change('services/scheduler/src/core/a-decision.ts');
    await made.commit();
    expect(await made.affected()).toEqual([...APPS, 'scheduler'].toSorted());
  });

  it('selects a changed package and all that depend on it, even before the commit', async () => {
    await using made = await repository();
    await made.change('packages/webhooks/src/hosts/a-rule.ts');
    expect(await made.affected()).toEqual(
      [...APPS, 'gateway', 'gpu-executor', 'notifier', 'webhooks'].toSorted(),
    );
  });

  it('selects no workspace after a change of a page', async () => {
    await using made = await repository();
    await made.change('docs/a-page.md');
    await made.commit();
    expect(await made.affected()).toEqual([]);
  });
});
