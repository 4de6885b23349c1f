import { readFileSync } from 'node:fs';
import { descendantsOf } from './processes.ts';
import type { Standalone } from './start-standalone.ts';

/** A number that the living notifier of a standalone tells of itself: the sum of the metric's series. */
export const notifierMetric = async ({ pid }: Standalone, name: string): Promise<number> => {
  const [notifier] = descendantsOf(pid, 'services/notifier/src/main.ts');
  if (notifier === undefined) throw new Error('no notifier runs');
  const environment = readFileSync(`/proc/${notifier}/environ`, 'utf8');
  const [, port] = /RUNLEDGER_HEALTH_PORT=(\d+)/.exec(environment) ?? [];
  const page = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(15_000) });
  const series = [...(await page.text()).matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))];
  if (series.length === 0) throw new Error(`the notifier does not tell ${name}`);
  return series.reduce((sum, [, value]) => sum + Number(value), 0);
};
