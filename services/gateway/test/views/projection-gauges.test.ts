import { createMetrics } from '@runledger/service-kit/metrics';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { projectionGauges } from '../../src/gateway-gauges.ts';
import { openTestBed } from '../fixtures/gateway/test-bed.ts';
import { queueSample } from '../fixtures/runs/queued-runs.ts';

const HOUR_S = 3_600;

describe('the lag of the views', () => {
  it.each([-HOUR_S, HOUR_S])(
    'is measured by the clock of the broker when the local clock is wrong by %i s',
    async (wrong) => {
      await using bed = await openTestBed();
      await queueSample(await bed.gateway(), bed.tenant);
      const metrics = createMetrics('gateway');
      projectionGauges(metrics, bed.log, { position: () => 0, seenPosition: () => undefined });

      vi.useFakeTimers({ now: Date.now() + wrong * 1_000, toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const seconds = await waitFor('a lag', async () => {
        const shown = await metrics.getSingleMetricAsString('runledger_gateway_projection_lag_seconds');
        return Number(/ (\S+)$/.exec(shown)?.[1]) || undefined;
      });
      expect(seconds).toBeLessThan(HOUR_S / 2);
    },
  );
});
