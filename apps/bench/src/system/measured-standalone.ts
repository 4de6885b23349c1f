import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { readConnectionFile } from '@runledger/standalone/connection-files';
import { memoryByName, commandLineOf, familyOf, processorTimes } from '@runledger/testing/measuring';
import { waitFor } from '@runledger/testing/wait-for';
import { createDeployments, RESIDENT_PROGRAM, type CallApi, type Deployments } from './deployments.ts';

export interface Api {
  /** With the base path. */
  readonly url: string;
  readonly key: string;
}

/** A standalone of any checkout, on a data folder of its own that goes with it. */
export interface MeasuredStandalone extends Api, AsyncDisposable {
  readonly checkout: string;
  readonly folder: string;
  /** What its processes inherit. */
  readonly environment: Readonly<Record<string, string>>;
  readonly pid: number;
  /** Of all executors. */
  readonly slots: number;
  readonly executors: number;
  readonly deployments: Deployments;
  /** From the start of its process until it had accepted a run, in seconds. */
  readonly startSeconds: number;
  readonly call: CallApi;
  /** The process of a service now, and the address of its health server. */
  readonly serviceProcess: (service: string) => ServiceProcess | undefined;
  /** What its processes have used up, in ms, by process: a service, `nats-server`, `supervisors`, or `programs`. */
  readonly processorTimes: () => ReadonlyMap<string, number>;
  /** Their memory now, in MiB. */
  readonly memory: () => ReadonlyMap<string, number>;
  /** What its data folder takes on the disk. */
  readonly bytesOnDisk: () => number;
}

interface ServiceProcess {
  readonly pid: number;
  readonly health: string;
}

export interface StandaloneRequest {
  readonly checkout: string;
  /** Of all executors, which have equally many. */
  readonly slots: number;
  readonly executors: number;
  /** `RUNLEDGER_SYNC_INTERVAL` of its broker. */
  readonly syncInterval: SyncInterval;
  /** What it inherits: `PATH` and `HOME` at least. */
  readonly environment: Readonly<Record<string, string>>;
  /** The data folder and the deployments of an earlier one, which stays; an empty folder that goes with it if this is not set. */
  readonly data?: { readonly folder: string; readonly deployments: Deployments | undefined };
}

const STARTS_WITHIN_MS = 120_000;
/** Room for a million runs that wait. It takes no space before. */
const RUNS_MAX_BYTES = 20 * 1_024 ** 3;

export const startStandalone = async (request: StandaloneRequest): Promise<MeasuredStandalone> => {
  const folder = request.data?.folder ?? (await mkdtemp(join(tmpdir(), 'runledger-bench-')));
  const began = performance.now();
  // As npm start does it.
  const child = spawn(process.execPath, ['scripts/run.mjs', '--omit=dev', 'apps/standalone/src/main.ts'], {
    cwd: request.checkout,
    env: environmentOf(request, folder),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  killWithParent(child);
  const ended = once(child, 'exit');
  const { content } = await waitFor(
    `the standalone of ${request.checkout} to be ready`,
    async () => {
      const connection = await readConnectionFile(folder);
      return connection.kind === 'found' && connection;
    },
    { withinMs: STARTS_WITHIN_MS },
  );
  const api = { url: content.url, key: content.api_key };
  const call = callOf(api);
  await call('/run/deployment/queue', { deployment_id: content.deployment_id });
  const startSeconds = (performance.now() - began) / 1_000;
  const pid = child.pid ?? 0;
  return {
    ...api,
    checkout: request.checkout,
    folder,
    environment: request.environment,
    pid,
    slots: request.slots,
    executors: request.executors,
    startSeconds,
    call,
    deployments: request.data?.deployments ?? (await createDeployments(call, content.deployment_id)),
    serviceProcess: (service) => serviceProcess(pid, service),
    processorTimes: () => processorTimes(pid, nameOf),
    memory: () => memoryByName(pid, nameOf),
    bytesOnDisk: () => bytesUnder(folder),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
      if (request.data === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
};

const environmentOf = (
  { slots, executors, syncInterval, environment }: StandaloneRequest,
  folder: string,
): Record<string, string> => ({
  ...environment,
  RUNLEDGER_DATA_DIR: folder,
  RUNLEDGER_PORT: '0',
  RUNLEDGER_RATE_LIMIT: '0',
  RUNLEDGER_QUEUE_MAX: '10000000',
  RUNLEDGER_SYNC_INTERVAL: syncInterval,
  RUNLEDGER_LOG_SETTINGS: JSON.stringify({ runsMaxBytes: RUNS_MAX_BYTES }),
  RUNLEDGER_EXECUTORS: String(executors),
  EXECUTOR_GPUS: `CPU:${Math.ceil(slots / executors)}`,
  EXECUTOR_PROGRAMS: JSON.stringify(RESIDENT_PROGRAM),
});

export const callOf =
  ({ url, key }: Api): CallApi =>
  async (path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request =
      body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${url}${path}`, request);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  };

export const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

/** The processes of a standalone. */
export const PROCESSES = [...SERVICES, 'nats-server', 'programs', 'supervisors', 'standalone'] as const;

const nameOf = (commandLine: string): string => {
  const service = /services\/([\w-]+)\/\S*main\./.exec(commandLine)?.[1];
  if (service !== undefined) return service;
  if (commandLine.includes('supervisor')) return 'supervisors';
  if (commandLine.includes('standalone/src/main')) return 'standalone';
  return commandLine.includes('nats-server') ? 'nats-server' : 'programs';
};

const serviceProcess = (standalone: number, service: string): ServiceProcess | undefined => {
  const found = familyOf(standalone).find(({ pid }) => nameOf(commandLineOf(pid)) === service);
  const port = found && /\0RUNLEDGER_HEALTH_PORT=(\d+)\0/.exec(environmentOfProcess(found.pid))?.[1];
  return found && port ? { pid: found.pid, health: `http://127.0.0.1:${port}` } : undefined;
};

/** Nothing of a process that has ended. */
const environmentOfProcess = (pid: number): string => {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`;
  } catch {
    return '';
  }
};

const BYTES_PER_BLOCK = 512;

/** Files that were set aside but not written yet take no blocks. */
const bytesUnder = (path: string): number => {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return 0;
  if (!entry.isDirectory()) return Math.min(entry.size, entry.blocks * BYTES_PER_BLOCK);
  return readdirSync(path).reduce((sum, name) => sum + bytesUnder(join(path, name)), 0);
};
