import { describe, expect, it } from 'vitest';
import { eventLogMetrics } from '../src/event-log-metrics.ts';
import { createMetrics } from '../src/metrics.ts';

describe('the metrics of the log', () => {
  it('count the outcomes of appends, and measure the time of answered appends', async () => {
    const metrics = createMetrics('gateway');
    const observer = eventLogMetrics(metrics);
    observer.connected(true);
    observer.appended('appended', 0.003);
    observer.appended('conflict', 0.2);
    observer.appended('failed', 8);
    observer.resent();
    observer.deadLettered('scheduler');
    observer.deadLettered('scheduler', 'gpu-1');
    observer.notAllowed();
    const text = await metrics.metrics();
    expect(text).toContain('runledger_log_connected{service="gateway"} 1');
    expect(text).toContain('runledger_log_append_seconds_count{service="gateway"} 2');
    expect(text).toContain('runledger_log_append_conflicts_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_append_failures_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_publish_retries_total{service="gateway"} 1');
    expect(text).toContain('runledger_log_dead_letters_total{service="gateway"} 2');
    expect(text).toContain(
      'runledger_log_dead_letters_of_executors_total{executor="gpu-1",service="gateway"} 1',
    );
    expect(text).toContain('runledger_log_permission_violations_total{service="gateway"} 1');
    observer.connected(false);
    expect(await metrics.metrics()).toContain('runledger_log_connected{service="gateway"} 0');
  });

  it('show the copies of each stream; while its leader does not respond, only that there is no quorum', async () => {
    const metrics = createMetrics('gateway');
    const observer = eventLogMetrics(metrics);
    const seen = { wanted: 3, current: 2, away: ['n2'], lag: 7, hasQuorum: true, isClustered: true };
    observer.copies('RUNS', seen);
    observer.copies('TIMERS', { ...seen, current: 3, away: [] });
    const text = await metrics.metrics();
    const of = (what: string, stream: string): string =>
      `runledger_log_${what}{stream="${stream}",service="gateway"}`;
    for (const line of [
      `${of('replicas_wanted', 'RUNS')} 3`,
      `${of('replicas_current', 'RUNS')} 2`,
      `${of('replicas_away', 'RUNS')} 1`,
      `${of('replica_lag_messages', 'RUNS')} 7`,
      `${of('clustered', 'RUNS')} 1`,
      `${of('quorum', 'RUNS')} 1`,
      `${of('replicas_current', 'TIMERS')} 3`,
    ])
      expect(text).toContain(line);
    observer.copies('RUNS', undefined);
    const after = await metrics.metrics();
    expect(after).toContain(`${of('quorum', 'RUNS')} 0`);
    expect(after).not.toContain(of('replicas_current', 'RUNS'));
    expect(after).toContain(`${of('replicas_current', 'TIMERS')} 3`);
  });
});
