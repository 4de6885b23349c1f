import { mkdir, mkdtempDisposable, rename, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runCommand, type CommandResult } from './run-command.ts';
import { openCacheDir } from './cache-dir.ts';

interface Python {
  readonly path: string;
  /** For example `3.11`. */
  readonly version: string;
}

type Version = readonly [major: number, minor: number];

/** A Python in this range on `PATH`: `python3` if it is in the range, else the newest with a number in its name. */
export const findPython = async (
  env: NodeJS.ProcessEnv,
  range: { readonly oldest: Version; readonly newest: Version },
): Promise<Python | undefined> => {
  const [major, newest] = range.newest;
  const oldest = range.oldest[1];
  const numbered = Array.from(
    { length: newest - oldest + 1 },
    (_, back) => `python${major}.${newest - back}`,
  );
  // python3 first: the default Python of a machine is more likely to have pip.
  for (const name of ['python3', ...numbered]) {
    const script = 'import sys; print(*sys.version_info[:2], sys.executable)';
    const answer = await runCommand(name, ['-c', script], { env, withinMs: 10_000 });
    const [, itsMajor, minor, path] = (answer.ok && /^(\d+) (\d+) (.+)/.exec(answer.stdout)) || [];
    if (path === undefined || Number(itsMajor) !== major) continue;
    if (Number(minor) >= oldest && Number(minor) <= newest) return { path, version: `${itsMajor}.${minor}` };
  }
  return undefined;
};

/** A way to call pip: a program and its first arguments. */
type Pip = readonly [file: string, ...args: string[]];

const WAYS: readonly Pip[] = [['python3', '-m', 'pip'], ['pip3'], ['pip']];

/** The first pip that runs. python3 may have no pip, and the pip on PATH may belong to another Python. */
export const findPip = async (env: NodeJS.ProcessEnv): Promise<Pip | undefined> => {
  for (const pip of WAYS) {
    const version = await callPip(pip, ['--version'], { env, withinMs: 30_000 });
    if (version.ok) return pip;
  }
  return undefined;
};

export const callPip = (
  [file, ...first]: Pip,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly withinMs: number },
): Promise<CommandResult> => {
  // A prompt would wait forever, and the notice about a newer pip would hide the reason of a failure.
  const env = { ...options.env, PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  return runCommand(file, [...first, ...args], { ...options, env });
};

type Installed = { readonly ok: true } | { readonly ok: false; readonly why: string };

/**
 * Installs packages for this Python into a folder for `PYTHONPATH`. Two processes may do this at the same time: the folder
 * appears complete, or not at all.
 */
const installPythonPackages = async (options: {
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
const pipOf = async (python: Python, folder: string, env: NodeJS.ProcessEnv): Promise<Pip | undefined> => {
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

/** How to run a server that is a Python package. */
export interface PythonServer {
  readonly python: string;
  /** The environment in which Python finds its packages. */
  readonly env: NodeJS.ProcessEnv;
}

interface PythonServerPackage {
  /** For people. */
  readonly title: string;
  /** In `src/requirements`, for Python 3.10 to 3.13. */
  readonly requirements: string;
  readonly version: string;
  /** Can be imported when everything is there. */
  readonly module: string;
  readonly megabytes: number;
  /** What else people can do, as a whole sentence. */
  readonly advice: string;
}

/**
 * Installs a server into the cache once.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const ensurePythonServer = async (
  { title, requirements, version, module, megabytes, advice }: PythonServerPackage,
  {
    env,
    onProgress = () => undefined,
  }: {
    readonly env: NodeJS.ProcessEnv;
    readonly onProgress?: (sentence: string) => void;
  },
): Promise<PythonServer> => {
  const python = await findPython(env, { oldest: [3, 10], newest: [3, 13] });
  if (python === undefined) {
    throw new Error(
      `${title} cannot run: it needs Python 3.10 to 3.13, and there is none on PATH. ${advice}`,
    );
  }
  const name = `${title.toLowerCase()}-${version}-py${python.version}-${process.arch}`;
  const packages = join(await openCacheDir(env), name);
  const server: PythonServer = {
    python: python.path,
    env: { ...env, PYTHONPATH: packages, PYTHONNOUSERSITE: '1' },
  };
  const runs = async (): Promise<boolean> =>
    (await runCommand(server.python, ['-c', `import ${module}`], { env: server.env, withinMs: 60_000 })).ok;
  if (await runs()) return server;

  onProgress(`Installing ${title} ${version} with pip (${megabytes} MB) into ${packages}.`);
  const file = fileURLToPath(new URL(`requirements/${requirements}`, import.meta.url));
  const installed = await installPythonPackages({ python, requirements: file, folder: packages, env });
  if (!installed.ok) throw new Error(`${title} cannot be installed: ${installed.why}.\n${advice}`);
  if (await runs()) return server;
  throw new Error(`${title} in ${packages} does not run. Remove that folder and try again.`);
};
