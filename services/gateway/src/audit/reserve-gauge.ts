import type { EventLog } from '@runledger/event-log/connect/event-log';
import { observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { LRUCache } from 'lru-cache';
import type { RightsReserveOptions } from './rights-reserve.ts';

const SEEN_FOR_MS = 3_600_000;
const MAX_RINGS = 1_000;
/** Below the threshold of the alert, so that the log names the organisation before it fires. */
const NOTEWORTHY = 0.75;

/** Shows how much of the reserves is used. Gives what to call for each use. No label holds an organisation: the log names it. */
export const reserveGauge = (
  metrics: Metrics,
  { logger }: Pick<EventLog, 'logger'>,
): RightsReserveOptions['onUse'] => {
  const seen = new LRUCache<string, number>({ max: MAX_RINGS, ttl: SEEN_FOR_MS });
  observedGauge(metrics, {
    name: 'runledger_gateway_audit_reserve_used_ratio',
    help: 'The largest part of a reserve of audit records that an organisation has used, of those that gave rights, chose passwords or read secrets at this gateway within an hour. From 1 on they wait.',
    value: () => Math.max(0, ...seen.values()),
  });
  return (ring, used) => {
    const before = seen.get(ring) ?? 0;
    seen.set(ring, used);
    if (used >= NOTEWORTHY && before < NOTEWORTHY)
      logger.warn({ ring, used }, 'an organisation has used most of a reserve of audit records');
  };
};
