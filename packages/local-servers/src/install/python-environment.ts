import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtempDisposable, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openCacheDir } from './cache-dir.ts';
import { callPip } from './pip.ts';
import { moveIntoPlace, pipOf } from './python-packages.ts';
import { findPython } from './python.ts';
import { runCommand } from '../process/run-command.ts';

/** A virtual environment without any packages. */
export interface PythonEnvironment {
  readonly python: string;
  /** Calls pip, which works on this environment. @throws Error */
  readonly pip: (args: readonly string[]) => Promise<void>;
  /** The folder of the wheels of a pip requirements file with hashes. They are downloaded once, into the cache. */
  readonly wheelsOf: (requirements: string) => Promise<string>;
}

/** Makes a virtual environment in a folder. `title`: for whom, in errors. @throws Error that says what is missing */
export const makePythonEnvironment = async (
  title: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<PythonEnvironment> => {
  const python = await findPython(env, { oldest: [3, 10], newest: [3, 13] });
  if (python === undefined)
    throw new Error(`${title} needs Python 3.10 to 3.13, and there is none on PATH. Install one.`);
  const made = await runCommand(python.path, ['-m', 'venv', '--without-pip', folder], {
    env,
    withinMs: 60_000,
  });
  if (!made.ok)
    throw new Error(`${title} needs a virtual environment, which ${python.path} cannot make: ${made.why}`);
  const own = join(folder, 'bin', 'python');
  const pip = await pipOf(python, join(folder, 'pip'), env);
  if (pip === undefined)
    throw new Error(
      `${title} needs pip: ${python.path} has none and cannot make a virtual environment with it (on Debian: apt install python3-pip).`,
    );
  const call = async (args: readonly string[]): Promise<void> => {
    const called = await callPip(pip, ['--python', own, ...args], { env, withinMs: 300_000 });
    if (!called.ok) throw new Error(`${title} cannot get its Python packages: ${called.why}`);
  };
  return {
    python: own,
    pip: call,
    wheelsOf: async (requirements) => {
      const content = await readFile(requirements);
      const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
      const wheels = join(await openCacheDir(env), `wheels-${hash}-py${python.version}-${process.arch}`);
      if (existsSync(wheels)) return wheels;
      await mkdir(dirname(wheels), { recursive: true });
      await using temporary = await mkdtempDisposable(join(dirname(wheels), 'download-'));
      const target = join(temporary.path, 'wheels');
      const flags = ['--require-hashes', '--only-binary=:all:', '--quiet'];
      await call(['download', ...flags, '--dest', target, '-r', requirements]);
      await moveIntoPlace(target, wheels);
      return wheels;
    },
  };
};
