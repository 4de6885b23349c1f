import type { Standalone } from '../../fixtures/start-standalone.ts';
import { metricsPage } from '../../monitoring/metrics-page.ts';

/** The sum of all series of a metric of the running notifier. */
export const notifierMetric = async (standalone: Standalone, name: string): Promise<number> => {
  const page = await metricsPage(standalone, 'notifier');
  const series = [...page.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))];
  if (series.length === 0) throw new Error(`the notifier does not export ${name}`);
  return series.reduce((sum, [, value]) => sum + Number(value), 0);
};
