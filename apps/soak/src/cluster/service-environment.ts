import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serviceEnvironment } from '@runledger/standalone/service-environment';
import type { Size } from '../parameters/size.ts';
import type { ServiceName } from './service.ts';

/** What the services of a cluster have in common. */
export interface ServiceAddresses {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly natsUrl: string;
  /** The seed of a user of the broker. */
  readonly seedOf: (user: string) => string;
  /** Undefined: views in memory. */
  readonly mongoUrl: string | undefined;
  /** Of each gateway. */
  readonly gatewayPorts: readonly number[];
  readonly secretKey: string;
  readonly size: Size;
}

export const PROGRAM = 'work';
export const GPU = 'A10G';

const WORK = fileURLToPath(new URL('../programs/work.sh', import.meta.url));

/** Where programs write a line when they begin, beside everything that the services know of. */
export const programDiaryPath = (folder: string): string => join(folder, 'diary.txt');

/** Each has a user of its own at the broker. */
export const executorNameOf = (index: number): string => `box${index + 1}`;

export const originOf = (port: number | undefined): string => `http://127.0.0.1:${port}`;

/** All that a service sees of its surroundings; `index` tells those of one name apart. */
export const environmentOf = (
  place: ServiceAddresses,
  service: ServiceName,
  index: number,
): Record<string, string> =>
  serviceEnvironment(place.env, [], {
    ...brokerUser(place, service, index),
    ...common,
    ...own(place, service, index),
  });

const brokerUser = (
  { natsUrl, seedOf }: ServiceAddresses,
  service: ServiceName,
  index: number,
): Record<string, string> => ({
  NATS_URL: natsUrl,
  NATS_NKEY: seedOf(service === 'gpu-executor' ? `executor-${executorNameOf(index)}` : service),
});

const common = {
  RUNLEDGER_HEALTH_HOST: '127.0.0.1',
  RUNLEDGER_HEALTH_PORT: '0',
  RUNLEDGER_LOG_LEVEL: 'info',
  // Twice the default: such a machine has other things to do, and a stop that takes too long is a violation.
  RUNLEDGER_STOP_WITHIN_S: '20',
};

const own = (place: ServiceAddresses, service: ServiceName, index: number): Record<string, string> => {
  const { size, gatewayPorts } = place;
  const period = { RUNLEDGER_HEARTBEAT_PERIOD_S: String(size.heartbeatPeriodS) };
  const webhooks = { RUNLEDGER_SECRET_KEYS: place.secretKey, RUNLEDGER_WEBHOOK_ALLOW: 'loopback' };
  const publicUrl = { RUNLEDGER_PUBLIC_URL: originOf(gatewayPorts[0]) };
  switch (service) {
    case 'gateway':
      return { ...webhooks, ...publicUrl, ...viewsOf(place), ...listening(gatewayPorts[index]) };
    case 'scheduler':
      return { ...period, RUNLEDGER_CANCEL_ENFORCE_S: String(size.cancelEnforceS) };
    case 'gpu-executor':
      return {
        ...period,
        EXECUTOR_NAME: executorNameOf(index),
        EXECUTOR_GPUS: `${GPU}:${size.slotsOfEach}`,
        EXECUTOR_PROGRAMS: JSON.stringify({
          [PROGRAM]: {
            command: '/bin/sh',
            args: [WORK],
            env: { SOAK_DIARY: programDiaryPath(place.folder) },
          },
        }),
        EXECUTOR_CANCEL_GRACE_S: String(size.cancelGraceS),
        EXECUTOR_WORK_DIR: join(place.folder, `work-${index + 1}`),
        RUNLEDGER_GATEWAY_URL: originOf(gatewayPorts[index % gatewayPorts.length]),
      };
    case 'notifier':
      return { ...webhooks, ...publicUrl, RUNLEDGER_WEBHOOK_SWEEP_EVERY_S: '2' };
  }
};

const viewsOf = ({ mongoUrl }: ServiceAddresses): Record<string, string> =>
  mongoUrl === undefined
    ? { RUNLEDGER_VIEWS: 'memory' }
    : { RUNLEDGER_VIEWS: 'mongodb', MONGODB_URL: mongoUrl };

const listening = (port: number | undefined): Record<string, string> => ({
  RUNLEDGER_HOST: '127.0.0.1',
  RUNLEDGER_PORT: String(port),
  RUNLEDGER_RATE_LIMIT: '0',
});
