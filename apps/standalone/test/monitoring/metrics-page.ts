import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { healthPage } from '@runledger/testing/health-pages';
import { HEALTH_TOKEN_FILE } from '../../src/keys.ts';
import { descendantsOf } from '../fixtures/processes.ts';
import type { Standalone } from '../fixtures/start-standalone.ts';

export const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

/** The metrics of the running process of a service. */
export const metricsPage = async (
  { pid, dataFolder }: Pick<Standalone, 'pid' | 'dataFolder'>,
  service: (typeof SERVICES)[number],
): Promise<string> => {
  const [found] = descendantsOf(pid, `services/${service}/src/main.`);
  if (found === undefined) throw new Error(`no ${service} runs`);
  const environment = readFileSync(`/proc/${found}/environ`, 'utf8');
  const [, port] = /RUNLEDGER_HEALTH_PORT=(\d+)/.exec(environment) ?? [];
  const page = await healthPage(`http://127.0.0.1:${port}`, '/metrics', { token: healthTokenOf(dataFolder) });
  return page.text();
};

/** What the start has made. */
export const healthTokenOf = (dataFolder: string): string =>
  readFileSync(join(dataFolder, HEALTH_TOKEN_FILE), 'utf8').trim();
