import { join } from 'node:path';
import { HEALTH_TOKEN_ENV } from '@runledger/testing/health-pages';
import type { ServiceName } from '../../../src/cluster/service.ts';
import { GPU, originOf, PROGRAM } from '../../../src/cluster/service-environment.ts';

/** What the environment of a service depends on. */
export interface EnvironmentOptions {
  /** The broker and the credentials for it, as settings of every service. */
  readonly broker: Readonly<Record<string, string>>;
  /** Where the run views are, as settings of the gateway. */
  readonly views: Readonly<Record<string, string>>;
  readonly gatewayPort: number;
  readonly healthPort: number;
  readonly folder: string;
  /** Distinguishes services of one kind. */
  readonly name: string;
}

export const OWN_VIEWS = { RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: ':memory:' };

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');
const WEBHOOKS = { RUNLEDGER_SECRET_KEYS: SECRET_KEY, RUNLEDGER_WEBHOOK_ALLOW: 'loopback' };

/** Writes an output file, which needs the gateway. A run with "until cancelled" in its inputs ends only by a cancel request. */
const WORK = [
  'read -r work',
  'case "$work" in *"until cancelled"*) exec sleep 600;; esac',
  'echo "$RUNLEDGER_RUN_ID" > "$RUNLEDGER_OUTPUT_DIR/result.txt"',
].join('\n');

/** The broker's user of a service. */
export const userOf = (service: ServiceName, name: string): string =>
  service === 'gpu-executor' ? `executor-${name}` : service;

/** The whole environment of the process: the settings that its page names, and nothing of the parent process. */
export const ownEnvironment = (service: ServiceName, where: EnvironmentOptions): Record<string, string> => ({
  ...where.broker,
  ...HEALTH_TOKEN_ENV,
  RUNLEDGER_HEALTH_PORT: String(where.healthPort),
  ...ofService(service, where),
});

const ofService = (
  service: ServiceName,
  { views, gatewayPort, folder, name }: EnvironmentOptions,
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
