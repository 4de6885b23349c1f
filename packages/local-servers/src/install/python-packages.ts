import { mkdir, mkdtempDisposable, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { callPip } from './pip.ts';
import type { Pip } from './pip.ts';
import type { Python } from './python.ts';
import { runCommand } from '../process/run-command.ts';

export type Installed = { readonly ok: true } | { readonly ok: false; readonly why: string };

/**
 * Installs packages for this Python into a folder for `PYTHONPATH`. Two processes may do this at the same time: the folder
 * appears complete, or not at all.
 */
export const installPythonPackages = async (options: {
  readonly python: Python;
  /** A pip requirements file with hashes. */
  readonly requirements: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<Installed> => {
  const { python, requirements, folder, env } = options;
  await mkdir(dirname(folder), { recursive: true });
  await using temporary = await mkdtempDisposable(join(dirname(folder), 'install-'));
  const pip = await pipOf(python, temporary.path, env);
  if (pip === undefined) {
    const why = `${python.path} has no pip and cannot make a virtual environment (on Debian: apt install python3-pip)`;
    return { ok: false, why };
  }
  const target = join(temporary.path, 'packages');
  const flags = ['--require-hashes', '--only-binary=:all:', '--no-compile', '--quiet'];
  const args = ['install', ...flags, '--target', target, '-r', requirements];
  const installed = await callPip(pip, args, { env, withinMs: 600_000 });
  if (!installed.ok) return { ok: false, why: `pip could not install it: ${installed.why}` };
  return moveIntoPlace(target, folder);
};

/** A Python without pip can often create a virtual environment that has one; undefined when it cannot. */
export const pipOf = async (
  python: Python,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Pip | undefined> => {
  const own: Pip = [python.path, '-m', 'pip'];
  if ((await callPip(own, ['--version'], { env, withinMs: 30_000 })).ok) return own;
  const venv = join(folder, 'venv');
  const made = await runCommand(python.path, ['-m', 'venv', venv], { env, withinMs: 120_000 });
  return made.ok ? [join(venv, 'bin', 'python'), '-m', 'pip'] : undefined;
};

/** Renames a folder. If another process was first, with the same content, that stays. */
export const moveIntoPlace = async (from: string, to: string): Promise<Installed> => {
  try {
    await rename(from, to);
    return { ok: true };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Another process was first, with the same content.
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return { ok: true };
    throw error;
  }
};
