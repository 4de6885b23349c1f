import { fileURLToPath } from 'node:url';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { recordProcess } from '../data-folder/leftovers.ts';
import { SAMPLE_PROGRAM } from '../records/sample-records.ts';
import { StartRefused } from '../settings/start-refused.ts';
import { awaitReady } from '../supervision/await-ready.ts';
import { keepRunning } from '../supervision/keep-running.ts';
import { serviceEnvironment } from '../supervision/service-environment.ts';
import { startService } from '../supervision/service-process.ts';
import type { ServiceProcess, ServiceProcessOptions, ServiceState } from '../supervision/service-process.ts';
import { programFile } from '@runledger/service-kit/lifecycle/program-file';
import { freePorts } from '@runledger/local-servers/free-port';
import { originOf } from './api-address.ts';
import type { Broker } from './broker.ts';
import { viewsEnvironment } from './database.ts';
import type { Views } from './database.ts';
import type { Slots } from './gpu-slots.ts';
import { ownServices } from './own-services.ts';

const READY_WITHIN_MS = 120_000;
/** A service that did not stop within its own deadline is killed this much later. */
const KILL_AFTER_S = 2;

const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

export interface ServicesOptions {
  readonly folder: DataFolder;
  readonly env: NodeJS.ProcessEnv;
  readonly broker: Broker;
  /** The name of the executor as a token of a subject. */
  readonly executor: string;
  readonly views: Views;
  readonly slots: Slots;
  readonly host: string;
  readonly port: number;
  /** Programs for the executor besides the sample, as JSON. */
  readonly programs: string | undefined;
  /** Of the executor; a folder in the data folder if it is not set. */
  readonly workFolder: string | undefined;
  readonly stopWithinS: number;
  /** The same for all services that read signing secrets. */
  readonly secretKeys: readonly string[];
  /** Where webhooks may go, and URLs of inputs may point, besides public addresses. */
  readonly webhookAllow: readonly string[];
  /** Where neither may go, besides the services of this standalone. */
  readonly moreOwnServices: readonly string[];
  /** The address of the gateway for clients, if it differs from host and port. */
  readonly publicUrl: string | undefined;
  /** Requests a minute of each API key; 0 is no limit. */
  readonly rateLimit: number;
  /** Bytes of the output files of an organisation, unless the environment sets its quota. */
  readonly outputBytes: number;
  readonly print: (line: string) => void;
}

/** Starts the services, keeps them running, and waits until all are ready. */
export const startServices = async (
  open: AsyncDisposableStack,
  options: ServicesOptions,
  stopping: AbortSignal,
): Promise<void> => {
  const { print } = options;
  const started = [];
  for (const spec of await serviceOptions(options)) {
    let latest: ServiceProcess | undefined;
    const start = async (): Promise<ServiceProcess> => {
      latest = startService(spec);
      if (latest.pid !== undefined) await recordProcess(options.folder, spec.name, latest.pid);
      return latest;
    };
    open.use(await keepRunning({ name: spec.name, start, print }));
    const state = (): ServiceState => latest?.state() ?? { kind: 'starting' };
    started.push({ name: spec.name, logFile: spec.logFile, state });
  }
  for (const service of started) {
    const ready = await awaitReady(service, READY_WITHIN_MS, stopping);
    if (!ready.ok) throw new StartRefused(ready.why);
  }
};

const serviceOptions = async (options: ServicesOptions): Promise<ServiceProcessOptions[]> => {
  const { folder, env, broker, executor, views, slots, host, port, programs, print } = options;
  const natsUrl = broker.operator.nats_url;
  const stopWithinMs = (options.stopWithinS + KILL_AFTER_S) * 1_000;
  // Fixed over restarts of a service, because webhooks must not reach them.
  const healthPorts = await freePorts(SERVICES.length, [port]);
  const common = { NATS_URL: natsUrl, RUNLEDGER_HEALTH_HOST: '127.0.0.1' };
  const loopbackPorts = [...healthPorts, broker.monitorPort];
  const own = ownServices({ natsUrl, views, host, port, healthPorts: loopbackPorts });
  const addresses = {
    RUNLEDGER_WEBHOOK_ALLOW: options.webhookAllow.join(','),
    RUNLEDGER_WEBHOOK_OWN_SERVICES: [...own, ...options.moreOwnServices].join(','),
  };
  const webhooks = { RUNLEDGER_SECRET_KEYS: options.secretKeys.join(','), ...addresses };
  const spec = (
    name: (typeof SERVICES)[number],
    prefixes: string[],
    ours: Record<string, string>,
  ): ServiceProcessOptions => ({
    name,
    main: fileURLToPath(new URL(`../../../../services/${name}/src/main.ts`, import.meta.url)),
    env: serviceEnvironment(env, prefixes, {
      ...common,
      NATS_NKEY_FILE: broker.keyFileOf(name === 'gpu-executor' ? `executor-${executor}` : name),
      RUNLEDGER_HEALTH_PORT: String(healthPorts[SERVICES.indexOf(name)]),
      ...ours,
    }),
    logFile: folder.at(`logs/${name}.log`),
    stopWithinMs,
    print,
  });
  return [
    spec('gateway', ['RUNLEDGER_'], {
      ...viewsEnvironment(views),
      ...webhooks,
      RUNLEDGER_HOST: host,
      RUNLEDGER_PORT: String(port),
      RUNLEDGER_RATE_LIMIT: String(options.rateLimit),
      RUNLEDGER_QUOTA_OUTPUT_BYTES: String(options.outputBytes),
      RUNLEDGER_QUOTA_FILE_BYTES: String(options.outputBytes),
      ...given(env, ['RUNLEDGER_QUOTA_OUTPUT_BYTES', 'RUNLEDGER_QUOTA_FILE_BYTES']),
    }),
    spec('scheduler', ['RUNLEDGER_'], {}),
    spec('gpu-executor', ['RUNLEDGER_', 'EXECUTOR_', ...(slots.simulated ? [] : ['CUDA_', 'NVIDIA_'])], {
      ...addresses,
      ...slots.setting,
      // The broker's user has this name.
      EXECUTOR_NAME: executor,
      EXECUTOR_PROGRAMS: allowList(programs, env),
      EXECUTOR_WORK_DIR: options.workFolder ?? folder.at('work'),
      // The keys of the operator, wherever the folder is.
      EXECUTOR_HIDDEN: [folder.path, ...Object.values(given(env, ['EXECUTOR_HIDDEN']))].join(','),
      RUNLEDGER_GATEWAY_URL: originOf(host, port),
    }),
    spec('notifier', ['RUNLEDGER_'], {
      ...webhooks,
      ...given(env, ['RUNLEDGER_WEBHOOK_PROXY', 'RUNLEDGER_WEBHOOK_PROXY_FILE']),
      RUNLEDGER_PUBLIC_URL: options.publicUrl ?? originOf(host, port),
    }),
  ];
};

const given = (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));

/** What the source of the sample imports, below the folder of the repository. */
const SAMPLE_READS = ['apps/standalone', 'node_modules', 'packages/contracts'];

/** The sample and the given programs. Invalid JSON goes to the executor unchanged, which explains the problem. */
export const allowList = (programs: string | undefined, env: NodeJS.ProcessEnv): string => {
  const sample = fileURLToPath(new URL('../sample/render-image.ts', import.meta.url));
  const file = programFile(sample, env);
  const ours = {
    [SAMPLE_PROGRAM]: {
      command: process.execPath,
      args: [file],
      readable:
        file === sample
          ? SAMPLE_READS.map((path) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url)))
          : [file],
    },
  };
  if (programs === undefined) return JSON.stringify(ours);
  try {
    const theirs: unknown = JSON.parse(programs);
    if (typeof theirs !== 'object' || theirs === null || Array.isArray(theirs)) return programs;
    return JSON.stringify({ ...ours, ...theirs });
  } catch {
    return programs;
  }
};
