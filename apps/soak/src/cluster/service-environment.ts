import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HEALTH_TOKEN_ENV } from '@runledger/testing/health-pages';
import { serviceEnvironment } from '@runledger/standalone/service-environment';
import type { Size } from '../size.ts';
import type { ServiceName } from './service.ts';

/** What the environments of all services of a cluster have in common. */
export interface ServiceAddresses {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly natsUrl: string;
  /** The seed of a user of the broker. */
  readonly seedOf: (user: string) => string;
  /** Undefined: each gateway keeps its views in a file. */
  readonly mongoUrl: string | undefined;
  /** Of each gateway. */
  readonly gatewayPorts: readonly number[];
  readonly healthPorts: readonly number[];
  /** Where gateways keep the archive; empty for the broker. */
  readonly archiveEnv: Readonly<Record<string, string>>;
  readonly secretKey: string;
  readonly size: Size;
  /** The most slots that organisations may hold, by id. */
  readonly orgLimits: Readonly<Record<string, number>>;
}

export const PROGRAM = 'work';
export const GPU = 'A10G';
/** Each executor has one slot of this model too, which only some organisations use. */
export const SHARED_GPU = 'L4';

const WORK = fileURLToPath(new URL('work.sh', import.meta.url));

/** Programs append a line to this file when they start. The services do not know of it. */
export const programStartsPath = (folder: string): string => join(programsFolder(folder), 'starts.txt');

/** Programs may write here, whatever user an executor gives them. */
export const programsFolder = (folder: string): string => join(folder, 'programs');

/** Each executor has its own user at the broker. */
export const executorNameOf = (index: number): string => `box${index + 1}`;

export const originOf = (port: number | undefined): string => `http://127.0.0.1:${port}`;

/** The whole environment of a service. `index` counts the services of one name. */
export const environmentOf = (
  addresses: ServiceAddresses,
  service: ServiceName,
  index: number,
): Record<string, string> =>
  serviceEnvironment(addresses.env, [], {
    NATS_URL: addresses.natsUrl,
    NATS_NKEY: addresses.seedOf(service === 'gpu-executor' ? `executor-${executorNameOf(index)}` : service),
    ...common,
    ...own(addresses, service, index),
  });

const HOUR_MS = 3_600_000;

const common = {
  RUNLEDGER_HEALTH_HOST: '127.0.0.1',
  RUNLEDGER_HEALTH_PORT: '0',
  RUNLEDGER_LOG_LEVEL: 'info',
  // Twice the default: the machine is busy, and a stop that takes too long counts as a violation.
  RUNLEDGER_STOP_WITHIN_S: '20',
};

const own = (addresses: ServiceAddresses, service: ServiceName, index: number): Record<string, string> => {
  const { size, gatewayPorts } = addresses;
  const period = { RUNLEDGER_HEARTBEAT_PERIOD_S: String(size.heartbeatPeriodS) };
  const webhooks = {
    RUNLEDGER_SECRET_KEYS: addresses.secretKey,
    RUNLEDGER_WEBHOOK_ALLOW: 'loopback',
    RUNLEDGER_WEBHOOK_GIVE_UP_S: String(size.giveUpS),
  };
  const publicUrl = { RUNLEDGER_PUBLIC_URL: originOf(gatewayPorts[0]) };
  switch (service) {
    case 'gateway':
      return {
        ...webhooks,
        ...publicUrl,
        ...viewsOf(addresses, index),
        RUNLEDGER_HOST: '127.0.0.1',
        RUNLEDGER_PORT: String(gatewayPorts[index]),
        RUNLEDGER_RATE_LIMIT: '0',
        ...quotasOf(size),
        ...addresses.archiveEnv,
        ...HEALTH_TOKEN_ENV,
        RUNLEDGER_HEALTH_PORT: String(addresses.healthPorts[index]),
        RUNLEDGER_ARCHIVE_AFTER_HOURS: String(size.archiveAfterMs / HOUR_MS),
      };
    case 'scheduler':
      return {
        ...period,
        RUNLEDGER_CANCEL_ENFORCE_S: String(size.cancelEnforceS),
        // So that each start reads one, with the whole queue.
        RUNLEDGER_SNAPSHOT_EVERY_S: '10',
        RUNLEDGER_ORG_LIMITS: Object.entries(addresses.orgLimits)
          .map(([org_id, limit]) => `${org_id}:${limit}`)
          .join(','),
      };
    case 'gpu-executor':
      return {
        ...period,
        EXECUTOR_NAME: executorNameOf(index),
        EXECUTOR_GPUS: `${GPU}:${size.slotsPerExecutor},${SHARED_GPU}:1`,
        EXECUTOR_PROGRAMS: JSON.stringify({
          [PROGRAM]: {
            command: '/bin/sh',
            args: [WORK],
            env: { SOAK_PROGRAM_STARTS: programStartsPath(addresses.folder) },
            writable: [programsFolder(addresses.folder)],
          },
        }),
        EXECUTOR_CANCEL_GRACE_S: String(size.cancelGraceS),
        EXECUTOR_WORK_DIR: join(addresses.folder, `work-${index + 1}`),
        RUNLEDGER_GATEWAY_URL: originOf(gatewayPorts[index % gatewayPorts.length]),
      };
    case 'notifier':
      return {
        ...webhooks,
        ...publicUrl,
        RUNLEDGER_WEBHOOK_RECONCILE_EVERY_S: '2',
      };
  }
};

const viewsOf = ({ mongoUrl, folder }: ServiceAddresses, index: number): Record<string, string> =>
  mongoUrl === undefined
    ? { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: join(folder, `views-${index + 1}.sqlite`) }
    : { RUNLEDGER_VIEWS: 'mongodb', MONGODB_URL: mongoUrl };

const MAX_RUN_BYTES = 1024 ** 2;

const quotasOf = ({ quotas }: Size): Record<string, string> => ({
  RUNLEDGER_QUEUE_MAX: String(quotas.queuedRuns),
  RUNLEDGER_QUOTA_CATALOGUE_RECORDS: String(quotas.catalogueRecords),
  RUNLEDGER_QUOTA_SCHEDULES: String(quotas.schedules),
  RUNLEDGER_QUOTA_SECRETS: String(quotas.secrets),
  RUNLEDGER_QUOTA_WORKFLOW_BYTES: String(quotas.workflowBytes),
  RUNLEDGER_QUOTA_OUTPUT_BYTES: String(quotas.outputBytes),
  RUNLEDGER_OUTPUT_RUN_MAX_BYTES: String(MAX_RUN_BYTES),
  RUNLEDGER_OUTPUT_FILE_MAX_BYTES: String(MAX_RUN_BYTES),
  RUNLEDGER_QUOTA_BLOB_BYTES: String(quotas.blobBytes),
  RUNLEDGER_QUOTA_FILES: String(quotas.files),
  RUNLEDGER_QUOTA_FILE_BYTES: String(quotas.fileBytes),
  RUNLEDGER_FILE_MAX_BYTES: String(quotas.fileBytes),
  RUNLEDGER_QUOTA_UPLOADS: String(quotas.uploads),
  RUNLEDGER_QUOTA_STREAMS: String(quotas.streams),
});
