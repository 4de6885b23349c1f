import { describe, expect, it } from 'vitest';
import { Counter, createMetrics } from '../src/metrics.ts';

describe('metrics', () => {
  it('include the process, the event loop delay and the metrics of the service, with the label of the service', async () => {
    const metrics = createMetrics('gateway');
    new Counter({ name: 'runs_queued_total', help: 'Runs queued.', registers: [metrics] }).inc(2);
    const text = await metrics.metrics();
    expect(text).toContain('process_resident_memory_bytes{service="gateway"}');
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds{service="gateway"}');
    expect(text).toContain('runs_queued_total{service="gateway"} 2');
  });

  it('of two services in one process are separate', async () => {
    const one = createMetrics('one');
    createMetrics('two');
    expect(await one.metrics()).not.toContain('two');
  });
});
