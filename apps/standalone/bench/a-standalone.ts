import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killWithParent } from '@runledger/local-servers/process/kill-with-parent';
import { processorTime, processorTimes } from '@runledger/testing/measuring/processor-time';
import { waitFor } from '@runledger/testing/time/wait-for';
import { readConnectionFile } from '../src/data-folder/connection-files.ts';

/** A standalone of any checkout, on a data folder of its own that goes with it. */
export interface MeasuredStandalone extends AsyncDisposable {
  /** A request to its API. The answer is 200, or this throws. */
  readonly call: (path: string, body?: object) => Promise<Record<string, unknown>>;
  readonly deploymentId: string;
  /** What all its processes have used up, in ms. */
  readonly processorTime: () => number;
  /** The same by process: a service, `nats-server`, `supervisors`, or `programs`. */
  readonly processorTimes: () => ReadonlyMap<string, number>;
  /** The bytes of the files of a stream. */
  readonly streamBytes: (stream: string) => number;
}

export const aStandalone = async (
  checkout: string,
  environment: Readonly<Record<string, string>>,
): Promise<MeasuredStandalone> => {
  const folder = await mkdtemp(join(tmpdir(), 'runledger-bench-'));
  const child = spawn(process.execPath, [join(checkout, 'apps/standalone/src/main.ts')], {
    env: { ...environment, RUNLEDGER_DATA_DIR: folder, RUNLEDGER_PORT: '0', RUNLEDGER_RATE_LIMIT: '0' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  killWithParent(child);
  const ended = once(child, 'exit');
  const { content } = await waitFor(
    `the standalone of ${checkout} to be ready`,
    async () => {
      const connection = await readConnectionFile(folder);
      return connection.kind === 'found' && connection;
    },
    { withinMs: 120_000 },
  );
  const headers = { authorization: `Bearer ${content.api_key}`, 'content-type': 'application/json' };
  return {
    deploymentId: content.deployment_id,
    call: async (path, body) => {
      const request =
        body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
      const answer = await fetch(`${content.url}${path}`, request);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
      return JSON.parse(text) as Record<string, unknown>;
    },
    processorTime: () => processorTime(child.pid),
    processorTimes: () => processorTimes(child.pid ?? 0, nameOf),
    streamBytes: (stream) =>
      globSync(`**/streams/${stream}/msgs/*.blk`, { cwd: folder })
        .map((file) => statSync(join(folder, file)).size)
        .reduce((sum, size) => sum + size, 0),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const nameOf = (commandLine: string): string => {
  const service = /services\/([\w-]+)\/src\/main\.ts/.exec(commandLine)?.[1];
  if (service !== undefined) return service;
  if (commandLine.includes('supervisor.ts')) return 'supervisors';
  if (commandLine.includes('standalone/src/main.ts')) return 'standalone';
  return commandLine.includes('nats-server') ? 'nats-server' : 'programs';
};
