import { describe, expect, it } from 'vitest';
import { eventLogMetrics } from '../../src/observability/event-log-metrics.ts';
import { createMetrics } from '../../src/observability/metrics.ts';

describe('the metrics of the log', () => {
  it('count the outcomes of appends, and measure the time of answered appends', async () => {
    const metrics = createMetrics('gateway');
    const observer = eventLogMetrics(metrics);
    observer.connected(true);
    observer.appended('appended', 0.003);
    observer.appended('conflict', 0.2);
    observer.appended('failed', 8);
    observer.resent();
    observer.deadLettered();
    observer.notAllowed();
    const text = await metrics.metrics();
    expect(text).toContain('runledger_log_connected{service="gateway"} 1');
    expect(text).toContain('runledger_log_append_seconds_count{service="gateway"} 2');
    expect(text).toContain('runledger_log_append_conflicts_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_append_failures_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_publish_retries_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_dead_letters_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_permission_violations_total{service="gateway"} 1');
    observer.connected(false);
    expect(await metrics.metrics()).toContain('runledger_log_connected{service="gateway"} 0');
  });
});
