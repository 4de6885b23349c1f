import { performance } from 'node:perf_hooks';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { Metrics } from '@runledger/service-kit/observability/metrics';
import type { CallbackPolicy } from '@runledger/webhooks/policy/callback-policy';
import type { NameResolver } from '@runledger/webhooks/dns/name-resolver';
import type { ConsoleFile } from './document/console.ts';
import type { GatewayConfig } from './config.ts';
import type { ProjectionPosition } from './views/projection-start.decide.ts';
import type { RunProjection } from './views/run-projection.ts';
import type { RunViews } from './views/run-views.ts';

/** What a gateway needs. */
export interface GatewayParts {
  readonly config: GatewayConfig;
  /** Undefined where the console is off. */
  readonly consoleFiles: ReadonlyMap<string, ConsoleFile> | undefined;
  readonly log: EventLog;
  readonly views: RunViews;
  /** Whether this gateway keeps the views up to date now. */
  readonly isProjecting: () => boolean;
  /** The latest position of the views that this gateway has seen, at most a few seconds old. */
  readonly seenPosition: () => ProjectionPosition | undefined;
  /** Work between two batches of the projection, if it is here. */
  readonly between: RunProjection['between'];
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Identifies this gateway process. */
  readonly instance: string;
  /** The address for clients, without a slash at the end. It is known once the gateway listens. */
  readonly publicUrl: () => string;
  /** Which addresses callbacks may reach. It is complete once the gateway listens, since it forbids its own address. */
  readonly policy: () => CallbackPolicy;
  readonly resolver: NameResolver;
}

/** Monotonic, in milliseconds. */
export const clock = (): number => performance.now();
export const now = (): Date => new Date();
