import { freePort } from '@runledger/local-servers/free-port';
import { join } from 'node:path';
import type { Isolation } from '../../../src/isolation/isolation.ts';
import { cogRunnerType } from '../../../src/runners/cog/cog-runner-type.ts';
import { atTheEnd } from '../../fixtures/at-the-end.ts';
import { openConfigured, type ConfiguredRuns } from '../run-configured.ts';
import type { Step } from './server/steps.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './server/test-server.ts';

export interface CogOptions {
  /** As in `EXECUTOR_COG`. */
  readonly models: Readonly<Record<string, object>>;
  readonly slots?: number;
  readonly graceMs?: number;
  readonly startTimeoutS?: number;
  readonly isolation?: Isolation;
}

/** The runner as an executor with these models has it; a run is for the first one. */
export const openCog = ({
  models,
  slots = 1,
  graceMs = 60_000,
  startTimeoutS = 30,
  isolation,
}: CogOptions): Promise<ConfiguredRuns> => {
  const settings = {
    EXECUTOR_COG: JSON.stringify(models),
    EXECUTOR_COG_START_TIMEOUT_S: startTimeoutS,
  };
  return openConfigured({
    slots,
    graceMs,
    isolation,
    choice: { kind: 'cog', model: Object.keys(models)[0] ?? '' },
    configure: (host) => cogRunnerType.configure(settings, host),
  });
};

/** A server that runs anyway. */
export const foreignServer = async (options?: TestServerOptions): Promise<TestServer> => {
  const server = await startTestServer(options);
  atTheEnd(() => server[Symbol.asyncDispose]());
  return server;
};

/** The entry of a server that the executor starts. */
export const ownServer = async (env: Readonly<Record<string, string>> = {}): Promise<object> => {
  const port = await freePort();
  const args = [join(import.meta.dirname, 'server', 'main.ts')];
  return { url: `http://127.0.0.1:${port}`, command: process.execPath, args, env };
};

export const doing = (...steps: readonly Step[]): object => ({ input: { steps } });
