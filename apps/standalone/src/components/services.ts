import { fileURLToPath } from 'node:url';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { recordProcess } from '../data-folder/leftovers.ts';
import type { SampleIds } from '../records/sample-records.ts';
import { HEALTH_TOKEN_FILE, openHealthToken } from '../keys.ts';
import { StartRefused } from '../settings.ts';
import { awaitReady } from '../supervision/await-ready.ts';
import { keepRunning } from '../supervision/keep-running.ts';
import { serviceEnvironment } from '../supervision/service-environment.ts';
import {
  startService,
  type ServiceProcess,
  type ServiceProcessOptions,
  type ServiceState,
} from '../supervision/service-process.ts';
import { freePorts } from '@runledger/local-servers/free-port';
import { allowList } from './allow-list.ts';
import { originOf } from './api-address.ts';
import type { Broker } from './broker.ts';
import { viewsEnvironment, type Views } from './database.ts';
import type { Executor } from './executors.ts';
import { PROXY_SETTINGS, settingsGiven } from './given-settings.ts';
import type { Slots } from './gpu-slots.ts';
import { ownServices } from './own-services.ts';

const READY_WITHIN_MS = 120_000;
/** A service that did not stop within its own deadline is killed this much later. */
const KILL_AFTER_S = 2;

export interface ServicesOptions {
  readonly folder: DataFolder;
  readonly env: NodeJS.ProcessEnv;
  readonly broker: Broker;
  readonly executors: readonly Executor[];
  readonly views: Views;
  readonly slots: Slots;
  readonly host: string;
  readonly port: number;
  /** Programs for the executors besides the sample, as JSON. */
  readonly programs: string | undefined;
  /** Settings of the executors for the code of versions. */
  readonly code: Readonly<Record<string, string>>;
  readonly stopWithinS: number;
  /** Of their health servers, if the environment gives one. */
  readonly healthToken: string | undefined;
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
  /** The records of the sample, which the reference of the API has in its examples. */
  readonly sample: SampleIds;
  /** Bytes of the output files of an organisation, unless the environment sets its quota. */
  readonly outputBytes: number;
  /** The same of the models that it keeps for its versions. */
  readonly modelBytes: number;
  readonly print: (line: string) => void;
}

/** Where a process serves its metrics, until the standalone stops. */
export interface MetricsAddress {
  readonly process: string;
  readonly url: string;
}

/** Starts the services, keeps them running, and waits until all are ready. */
export const startServices = async (
  open: AsyncDisposableStack,
  options: ServicesOptions,
  stopping: AbortSignal,
): Promise<MetricsAddress[]> => {
  const { print } = options;
  const healthToken = await openHealthToken(options.folder, options.healthToken);
  const started = [];
  const { groups, metrics } = await serviceOptions(options);
  for (const group of groups) {
    const running: AsyncDisposable[] = [];
    open.defer(async () => void (await Promise.all(running.map((one) => one[Symbol.asyncDispose]()))));
    for (const spec of group) {
      let latest: ServiceProcess | undefined;
      const start = async (): Promise<ServiceProcess> => {
        latest = startService(spec);
        if (latest.pid !== undefined) await recordProcess(options.folder, spec.name, latest.pid);
        return latest;
      };
      running.push(await keepRunning({ name: spec.name, start, print }));
      const state = (): ServiceState => latest?.state() ?? { kind: 'starting' };
      started.push({ name: spec.name, logFile: spec.logFile, healthToken, state });
    }
  }
  for (const service of started) {
    const ready = await awaitReady(service, READY_WITHIN_MS, stopping);
    if (!ready.ok) throw new StartRefused(ready.why);
  }
  return metrics;
};

interface ServicePlan {
  /** In the order of their start. Those of a group stop side by side: each executor may wait for its programs. */
  readonly groups: ServiceProcessOptions[][];
  readonly metrics: MetricsAddress[];
}

const serviceOptions = async (options: ServicesOptions): Promise<ServicePlan> => {
  const { folder, env, broker, executors, views, slots, host, port, print } = options;
  const natsUrl = broker.operator.nats_url;
  const stopWithinMs = (options.stopWithinS + KILL_AFTER_S) * 1_000;
  // Fixed over restarts of a service, because webhooks must not reach them.
  const processes = ['gateway', 'scheduler', 'notifier', ...executors.map(({ process }) => process)];
  const healthPorts = await freePorts(processes.length, [port]);
  const common = { NATS_URL: natsUrl, RUNLEDGER_HEALTH_HOST: '127.0.0.1' };
  const addresses = webhookAddresses(options, healthPorts);
  const webhooks = { RUNLEDGER_SECRET_KEYS: options.secretKeys.join(','), ...addresses };
  const spec = (
    service: string,
    prefixes: string[],
    ours: Record<string, string>,
    { process, user } = { process: service, user: service },
  ): ServiceProcessOptions => ({
    name: process,
    main: fileURLToPath(new URL(`../../../../services/${service}/src/main.ts`, import.meta.url)),
    env: serviceEnvironment(env, prefixes, {
      ...common,
      NATS_NKEY_FILE: broker.keyFileOf(user),
      RUNLEDGER_HEALTH_TOKEN_FILE: folder.at(HEALTH_TOKEN_FILE),
      RUNLEDGER_HEALTH_PORT: String(healthPorts[processes.indexOf(process)]),
      ...ours,
    }),
    logFile: folder.at(`logs/${process}.log`),
    stopWithinMs,
    print,
  });
  const gateway = spec('gateway', ['RUNLEDGER_'], {
    ...viewsEnvironment(views),
    ...webhooks,
    RUNLEDGER_HOST: host,
    RUNLEDGER_PORT: String(port),
    RUNLEDGER_RATE_LIMIT: String(options.rateLimit),
    RUNLEDGER_EXAMPLE_IDS: exampleIds(options.sample),
    RUNLEDGER_QUOTA_OUTPUT_BYTES: String(options.outputBytes),
    RUNLEDGER_QUOTA_FILE_BYTES: String(options.outputBytes),
    RUNLEDGER_QUOTA_MODEL_BYTES: String(options.modelBytes),
    ...settingsGiven(env, [
      'RUNLEDGER_QUOTA_OUTPUT_BYTES',
      'RUNLEDGER_QUOTA_FILE_BYTES',
      'RUNLEDGER_QUOTA_MODEL_BYTES',
    ]),
  });
  const scheduler = spec('scheduler', ['RUNLEDGER_'], {});
  const executorPrefixes = ['RUNLEDGER_', 'EXECUTOR_', ...(slots.simulated ? [] : ['CUDA_', 'NVIDIA_'])];
  const gpuExecutors = executors.map((executor) =>
    spec(
      'gpu-executor',
      executorPrefixes,
      { ...addresses, ...executorSettings(options, executor) },
      { process: executor.process, user: `executor-${executor.name}` },
    ),
  );
  const notifier = spec('notifier', ['RUNLEDGER_'], {
    ...webhooks,
    ...settingsGiven(env, PROXY_SETTINGS),
    RUNLEDGER_PUBLIC_URL: options.publicUrl ?? originOf(host, port),
  });
  return {
    groups: [[gateway], [scheduler], gpuExecutors, [notifier]],
    metrics: metricsOf(processes, healthPorts),
  };
};

/** As the setting of the gateway has them. */
const exampleIds = ({ machine_id, workflow_id, workflow_version_id, deployment_id }: SampleIds): string =>
  Object.entries({ machine_id, workflow_id, workflow_version_id, deployment_id })
    .map(([name, id]) => `${name}=${id}`)
    .join(',');

const webhookAddresses = (
  { broker, views, host, port, webhookAllow, moreOwnServices }: ServicesOptions,
  healthPorts: readonly number[],
): Record<string, string> => {
  const own = ownServices({ natsUrl: broker.operator.nats_url, views, host, port, healthPorts });
  return {
    RUNLEDGER_WEBHOOK_ALLOW: webhookAllow.join(','),
    RUNLEDGER_WEBHOOK_OWN_SERVICES: [...own, ...moreOwnServices].join(','),
  };
};

const metricsOf = (processes: readonly string[], healthPorts: readonly number[]): MetricsAddress[] =>
  processes.map((process, index) => ({ process, url: `http://127.0.0.1:${healthPorts[index]}/metrics` }));

const executorSettings = (
  { env, folder, slots, programs, code, host, port }: ServicesOptions,
  { name, workFolder }: Executor,
): Record<string, string> => ({
  ...slots.setting,
  // The broker's user has this name.
  EXECUTOR_NAME: name,
  EXECUTOR_PROGRAMS: allowList(programs, env),
  ...code,
  EXECUTOR_WORK_DIR: workFolder,
  // The keys of the operator, wherever the folder is.
  EXECUTOR_HIDDEN: [folder.path, ...Object.values(settingsGiven(env, ['EXECUTOR_HIDDEN']))].join(','),
  RUNLEDGER_GATEWAY_URL: originOf(host, port),
});
