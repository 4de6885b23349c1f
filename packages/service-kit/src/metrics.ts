import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export { Counter, Gauge, Histogram } from 'prom-client';
export type { CounterConfiguration, GaugeConfiguration, HistogramConfiguration } from 'prom-client';

export type Metrics = Registry;

/**
 * A registry (not prom-client's global one) with the default metrics of the process, all with the label `service`. Services add
 * theirs with `new Counter({ name, help, registers: [metrics] })`. Never use a run id as a label: each value is a new time series.
 */
export const createMetrics = (service: string): Metrics => {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  collectDefaultMetrics({ register: metrics });
  return metrics;
};

export interface ObservedGauge {
  readonly name: string;
  readonly help: string;
  /** Called at each scrape. The gauge is omitted while the value is undefined. */
  readonly value: () => number | undefined | Promise<number | undefined>;
}

export const observedGauge = (metrics: Metrics, { name, help, value }: ObservedGauge): void => {
  metrics.registerMetric(
    new Gauge({
      name,
      help,
      registers: [],
      async collect() {
        const now = await value();
        if (now === undefined) this.remove();
        else this.set(now);
      },
    }),
  );
};
