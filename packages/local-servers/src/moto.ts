import { freePort } from './free-port.ts';
import { ensurePythonServer } from './python.ts';
import { startServer, type ServerProcess } from './server-process.ts';

/** A server with the protocol of S3 on the loopback address, in memory. It does not check signatures. */
export interface S3Server extends ServerProcess {
  readonly url: string;
}

/**
 * Moto, for tests. It is installed into the cache once.
 * @throws Error that says what to install, if this machine cannot run it
 */
export const startMoto = async (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress?: (sentence: string) => void;
}): Promise<S3Server> => {
  const { python, env } = await ensurePythonServer(
    {
      title: 'Moto',
      requirements: 'moto.txt',
      version: '5.2.5',
      module: 'moto.server, flask_cors, xmltodict',
      megabytes: 31,
      advice: 'Install Python 3.10 to 3.13 with pip, and let it reach PyPI or a mirror of it.',
    },
    options,
  );
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { server } = await startServer({
    name: 'Moto',
    file: python,
    args: ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
    env: { ...env, PYTHONDONTWRITEBYTECODE: '1' },
    ready: async () => {
      const response = await fetch(`${url}/moto-api/`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok ? true : undefined;
    },
  });
  return { ...server, url };
};
