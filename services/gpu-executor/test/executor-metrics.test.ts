import { createMetrics } from '@runledger/service-kit/metrics';
import { describe, expect, it } from 'vitest';
import { executorMetrics } from '../src/open-executor.ts';

describe('the metrics of an executor', () => {
  it('include its slots, its attempts, and the time since the last stored heartbeat', async () => {
    const metrics = createMetrics('gpu-executor');
    let now = 1_000;
    const counts = executorMetrics(metrics, {
      slots: 4,
      heldBy: { isolation: 'strong', isolation_gaps: [], limits: 'rlimits' },
      busy: () => 3,
      clock: () => now,
    });
    const expectMetric = async (line: string): Promise<void> =>
      expect(await metrics.metrics()).toContain(`runledger_executor_${line}`);
    counts.attemptOver();
    await expectMetric('attempts_total{service="gpu-executor"} 1');
    counts.attemptExpired();
    await expectMetric('attempts_expired_total{service="gpu-executor"} 1');
    await expectMetric('isolation{kind="strong",service="gpu-executor"} 1');
    await expectMetric('limits{kind="rlimits",service="gpu-executor"} 1');
    await expectMetric('slots{service="gpu-executor"} 4');
    await expectMetric('slots_busy{service="gpu-executor"} 3');
    now += 2_500;
    await expectMetric('silence_seconds{service="gpu-executor"} 2.5');
    counts.heartbeat();
    await expectMetric('silence_seconds{service="gpu-executor"} 0');
    await expectMetric('heartbeats_total{service="gpu-executor"} 1');
  });
});
