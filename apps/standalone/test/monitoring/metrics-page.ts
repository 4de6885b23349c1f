import { readFileSync } from 'node:fs';
import { descendantsOf } from '../fixtures/processes.ts';
import type { Standalone } from '../fixtures/start-standalone.ts';

export const SERVICES = ['gateway', 'scheduler', 'gpu-executor', 'notifier'] as const;

/** The metrics of the running process of a service. */
export const metricsPage = async (
  { pid }: Pick<Standalone, 'pid'>,
  service: (typeof SERVICES)[number],
): Promise<string> => {
  const [found] = descendantsOf(pid, `services/${service}/src/main.`);
  if (found === undefined) throw new Error(`no ${service} runs`);
  const environment = readFileSync(`/proc/${found}/environ`, 'utf8');
  const [, port] = /RUNLEDGER_HEALTH_PORT=(\d+)/.exec(environment) ?? [];
  const page = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(15_000) });
  return page.text();
};
