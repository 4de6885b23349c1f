import type { Resource } from '@runledger/contracts/http/usage';
import type { OrgId } from '@runledger/contracts/ids';
import { Counter, Gauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';

export interface QuotaMetrics {
  /** What to call for each refusal of a resource. */
  readonly refused: (resource: Resource | 'key_streams') => (org_id: OrgId) => void;
}

const AT_QUOTA_FOR_MS = 60_000;
const MAX_ORGANISATIONS = 10_000;

/** No label holds an organisation: each would be a series forever. */
export const quotaMetrics = (registry: Metrics): QuotaMetrics => {
  const refusals = new Counter({
    name: 'runledger_gateway_quota_refusals_total',
    help: 'Requests that were refused because of the quota of their organisation, by resource.',
    labelNames: ['resource'],
    registers: [registry],
  });
  const atQuota = new Map<string, LRUCache<OrgId, true>>();
  const gauge = new Gauge({
    name: 'runledger_gateway_organisations_at_quota',
    help: 'Organisations that this gateway refused something within the last minute because of their quota, by resource.',
    labelNames: ['resource'],
    registers: [],
    collect() {
      for (const [resource, organisations] of atQuota) {
        organisations.purgeStale();
        this.set({ resource }, organisations.size);
      }
    },
  });
  registry.registerMetric(gauge);
  return {
    refused: (resource) => {
      const organisations = new LRUCache<OrgId, true>({ ...atMost(MAX_ORGANISATIONS), ttl: AT_QUOTA_FOR_MS });
      atQuota.set(resource, organisations);
      // A rate would not show the first refusal of a series that begins at 1.
      refusals.inc({ resource }, 0);
      return (org_id) => {
        refusals.inc({ resource });
        organisations.set(org_id, true);
      };
    },
  };
};
