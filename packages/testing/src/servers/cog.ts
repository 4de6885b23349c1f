import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ensureCog } from '@runledger/local-servers/cog';
import { freePort } from '@runledger/local-servers/free-port';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { waitFor } from '../wait-for.ts';
import { environment } from './environment.ts';

/** How a real Cog server is started, as in `EXECUTOR_COG`. */
export interface CogCommand extends Disposable {
  readonly entry: {
    readonly command: string;
    readonly args: readonly string[];
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
  };
}

/** For the class `Predictor` of a Python file. Installs Cog into the cache when it is not there, which may take minutes. */
export const cogCommand = async (predictor: string): Promise<CogCommand> => {
  const { python, env } = await ensureCog({ env: environment });
  // The server starts its worker as `python`.
  const bin = mkdtempSync(join(tmpdir(), 'runledger-cog-'));
  // For programs of any user.
  chmodSync(bin, 0o755);
  symlinkSync(python, join(bin, 'python'));
  return {
    entry: {
      command: python,
      args: ['-m', 'cog.server.http', '--host', '127.0.0.1'],
      cwd: dirname(predictor),
      env: {
        PATH: `${bin}:${environment['PATH']}`,
        PYTHONPATH: env['PYTHONPATH'] ?? '',
        PYTHONDONTWRITEBYTECODE: '1',
        COG_PREDICT_TYPE_STUB: `${basename(predictor)}:Predictor`,
      },
    },
    [Symbol.dispose]: () => rmSync(bin, { recursive: true }),
  };
};

export interface CogServer extends AsyncDisposable {
  readonly url: string;
}

/** A server that no executor starts. It has its model. */
export const startCog = async ({ entry }: CogCommand): Promise<CogServer> => {
  const { command, args, cwd, env } = entry;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = spawn(command, args, { cwd, env: { ...env, PORT: String(port) }, stdio: 'ignore' });
  killWithParent(server);
  const exited = once(server, 'exit');
  await waitFor('the setup of the Cog model', async () => (await cogStatus(url)) === 'READY');
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGTERM');
      await exited;
    },
  };
};

/** Such as `READY` or `BUSY`; undefined when nothing answers. */
export const cogStatus = async (url: string): Promise<string | undefined> => {
  const response = await fetch(`${url}/health-check`).catch(() => undefined);
  const health: unknown = await response?.json();
  return typeof health === 'object' && health !== null && 'status' in health
    ? String(health.status)
    : undefined;
};
