import { join } from 'node:path';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { GPU, originOf, PROGRAM } from '../../../src/cluster/service-environment.ts';

/** What the services of one log are told, each by its own environment. */
export interface Surroundings {
  /** Broker and who one is there, as settings of every service. */
  readonly broker: Readonly<Record<string, string>>;
  /** Where the views are, as settings of the gateway. */
  readonly views: Readonly<Record<string, string>>;
  readonly gatewayPort: number;
  readonly healthPort: number;
  readonly folder: string;
  /** Tells several of one service apart. */
  readonly name: string;
}

export const MEMORY = { RUNLEDGER_VIEWS: 'memory' };

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const WEBHOOKS = { RUNLEDGER_SECRET_KEYS: SECRET_KEY, RUNLEDGER_WEBHOOK_ALLOW: 'loopback' };

/** Leaves a file, so that the gateway is needed; a run that was told to be long ends by a cancel only. */
const WORK = [
  'read -r work',
  'case "$work" in *"for ever"*) exec sleep 600;; esac',
  'echo "$RUNLEDGER_RUN_ID" > "$RUNLEDGER_OUTPUT_DIR/result.txt"',
].join('\n');

/** Who a service is at a broker that tells them apart. */
export const userOf = (service: ServiceName, name: string): string =>
  service === 'gpu-executor' ? `executor-${name}` : service;

/** All that the process sees: the settings that its page names, and nothing of whoever starts it. */
export const ownEnvironment = (service: ServiceName, where: Surroundings): Record<string, string> => ({
  ...where.broker,
  RUNLEDGER_HEALTH_PORT: String(where.healthPort),
  ...ofService(service, where),
});

const ofService = (
  service: ServiceName,
  { views, gatewayPort, folder, name }: Surroundings,
): Record<string, string> => {
  switch (service) {
    case 'gateway':
      return { ...WEBHOOKS, ...views, RUNLEDGER_PORT: String(gatewayPort) };
    case 'scheduler':
      return {};
    case 'gpu-executor':
      return {
        EXECUTOR_NAME: name,
        EXECUTOR_GPUS: `${GPU}:1`,
        EXECUTOR_PROGRAMS: JSON.stringify({ [PROGRAM]: ['/bin/sh', '-c', WORK] }),
        EXECUTOR_WORK_DIR: join(folder, name),
        RUNLEDGER_GATEWAY_URL: originOf(gatewayPort),
      };
    case 'notifier':
      return WEBHOOKS;
  }
};
