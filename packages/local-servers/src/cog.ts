import { ensurePythonServer, type PythonServer } from './python.ts';

/**
 * The server of Cog models, for tests. It is installed into the cache once. Start it with `python -m cog.server.http`, with `python` on `PATH`: it
 * starts its worker by that name.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const ensureCog = (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<PythonServer> =>
  ensurePythonServer(
    {
      title: 'Cog',
      requirements: 'cog.txt',
      version: '0.23.1',
      module: 'cog, coglet',
      megabytes: 8,
      advice: 'Install Python 3.10 to 3.13 with pip, and let it reach PyPI or a mirror of it.',
    },
    options,
  );
