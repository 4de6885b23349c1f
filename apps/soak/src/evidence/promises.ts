import type { BrokerFault } from '../faults/broker-fault-schedule.ts';
import type { LimitChange } from '../limits/limit-changes.ts';

/** What a seed says that it does, as planned. The timing decides what comes of it. */
export interface Promises {
  /** Changes of limits, each store once at least. */
  readonly limits: readonly Pick<LimitChange, 'store' | 'kind'>[];
  /** The database is emptied, or gets an older copy back. */
  readonly databaseLosesData: boolean;
  /** Faults of a cluster of brokers. */
  readonly brokerFaults: readonly Pick<BrokerFault, 'kind' | 'victims'>[];
}
