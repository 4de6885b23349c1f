import { expect } from 'vitest';
import type { Standalone } from '../fixtures/start-standalone.ts';
import { readExposition, type ExposedMetric } from './exposition.ts';
import { metricsPage, SERVICES } from './metrics-page.ts';
import { metricsIn } from './promql.ts';
import { readQueries } from './monitored-metrics.ts';

/** Prometheus adds these labels, and the metric `up`. */
const ADDED: ReadonlySet<string> = new Set(['job', 'instance']);
const OF_PROMETHEUS: readonly [string, ReadonlySet<string>] = ['up', new Set<string>()];

/** Labels with few values that are known in advance; executors are as many as there are keys. */
const LABELS: ReadonlySet<string> = new Set(
  'service le operation status why from gpu state kind reason end_reason notification outcome end resource stream executor'.split(
    ' ',
  ),
);
/** A UUID, an address, a path with an id in it. */
const UNBOUNDED = /[0-9a-f]{8}-[0-9a-f]{4}|:\/\/|\d+\.\d+\.\d+\.\d+/;
const WRONG_UNITS = /_(ms|millis|milliseconds|minutes|hours|kb|mb|kilobytes|percent)(_total)?$/;
const PREFIXES: Readonly<Record<(typeof SERVICES)[number], RegExp>> = {
  gateway: /^runledger_(gateway|log)_/,
  scheduler: /^runledger_(scheduler|log)_/,
  'gpu-executor': /^runledger_(executor|log)_/,
  notifier: /^runledger_(notifier|log)_/,
};

/** The services of this standalone have every metric and label that board and alerts use. */
export const expectMonitoredMetrics = async (standalone: Standalone): Promise<void> => {
  const exposed = new Map<string, ReadonlySet<string>>([OF_PROMETHEUS]);
  for (const service of SERVICES) {
    for (const { samples } of readExposition(await metricsPage(standalone, service))) {
      for (const [sample, labels] of samples) exposed.set(sample, labels);
    }
  }
  const missing = (await readQueries()).flatMap(({ where, expression, shown }) =>
    metricsIn(expression).flatMap(({ metric, labels }) => {
      const known = exposed.get(metric);
      if (!known) return `${where} uses ${metric}, which no service exports`;
      const unknown = [...labels, ...shown].filter((label) => !known.has(label) && !ADDED.has(label));
      return unknown.map((label) => `${where} uses the label ${label} of ${metric}, which it does not have`);
    }),
  );
  expect(missing).toEqual([]);
};

/** https://prometheus.io/docs/practices/naming/ and https://prometheus.io/docs/instrumenting/writing_exporters/ */
export const expectConventions = async (standalone: Standalone): Promise<void> => {
  for (const service of SERVICES) {
    const page = readExposition(await metricsPage(standalone, service));
    const ours = page.filter(({ name }) => name.startsWith('runledger'));
    expect(ours.length).toBeGreaterThan(8);
    for (const metric of ours) {
      expect(metric.name).toMatch(PREFIXES[service]);
      expect(metric.name).not.toMatch(WRONG_UNITS);
      expect(metric.help, metric.name).toMatch(/^[A-Z0-9].*\.$/);
      expect(metric.name.endsWith('_total'), metric.name).toBe(metric.type === 'counter');
      if (metric.type === 'histogram') expect(metric.name).toMatch(/_(seconds|bytes)$/);
      expect(unboundedIn(metric), metric.name).toEqual([]);
    }
  }
};

const unboundedIn = ({ samples, labelValues }: ExposedMetric): string[] => [
  ...[...samples.values()].flatMap((labels) => [...labels].filter((label) => !LABELS.has(label))),
  ...[...labelValues].filter((value) => UNBOUNDED.test(value)),
];
