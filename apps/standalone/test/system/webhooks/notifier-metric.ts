import type { Standalone } from '../../fixtures/start-standalone.ts';
import { metricsPage } from '../../monitoring/metrics-page.ts';

/** A number that the living notifier of a standalone tells of itself: the sum of the metric's series. */
export const notifierMetric = async (standalone: Standalone, name: string): Promise<number> => {
  const page = await metricsPage(standalone, 'notifier');
  const series = [...page.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))];
  if (series.length === 0) throw new Error(`the notifier does not tell ${name}`);
  return series.reduce((sum, [, value]) => sum + Number(value), 0);
};
