import { performance } from 'node:perf_hooks';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Metrics } from '@runledger/service-kit/observability/metrics';
import type { CallbackPolicy } from '@runledger/webhooks/policy/callback-policy';
import type { NameResolver } from '@runledger/webhooks/dns/name-resolver';
import type { GatewayConfig } from './config.ts';
import type { RunViews } from './projection/run-views.ts';

/** What a gateway is made of. */
export interface GatewayParts {
  readonly config: GatewayConfig;
  readonly log: EventLog;
  readonly views: RunViews;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells two gateways apart. */
  readonly instance: string;
  /** The address as clients know it, without a slash at the end; known once the gateway listens. */
  readonly publicUrl: () => string;
  /** Which addresses callbacks may reach; complete once the gateway listens, since its own is none of them. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

/** Monotonic, in milliseconds. */
export const clock = (): number => performance.now();
export const now = (): Date => new Date();
