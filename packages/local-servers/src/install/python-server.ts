import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../process/run-command.ts';
import { openCacheDir } from './cache-dir.ts';
import { installPythonPackages } from './python-packages.ts';
import { findPython } from './python.ts';

/** How to run a server that is a Python package. */
export interface PythonServer {
  readonly python: string;
  /** The environment in which Python finds its packages. */
  readonly env: NodeJS.ProcessEnv;
}

export interface PythonServerPackage {
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
  const file = fileURLToPath(new URL(`../requirements/${requirements}`, import.meta.url));
  const installed = await installPythonPackages({ python, requirements: file, folder: packages, env });
  if (!installed.ok) throw new Error(`${title} cannot be installed: ${installed.why}.\n${advice}`);
  if (await runs()) return server;
  throw new Error(`${title} in ${packages} does not run. Remove that folder and try again.`);
};
