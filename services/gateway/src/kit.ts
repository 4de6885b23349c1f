import { performance } from 'node:perf_hooks';
import type { BlobStores } from '@runledger/blob-store/blob-stores';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { GatewayConfig } from './config.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { EventEnvelope } from '@runledger/contracts/events/event-envelope';
import type { Passwords } from './records/people/passwords.ts';
import type { RunViews } from './views/run-views.ts';

/** What every part of the gateway is given, whole. */
export interface Kit {
  readonly config: GatewayConfig;
  readonly log: EventLog;
  readonly views: RunViews;
  /** Of workflows, inputs, and lists of outputs that are too large for a fact. */
  readonly stores: BlobStores;
  readonly passwords: Passwords;
  readonly logger: Logger;
  readonly metrics: GatewayMetrics;
  /** Whose the facts are that this process stores. */
  readonly writer: EventEnvelope['writer'];
  /** The address for clients, without a slash at the end. It is known once the gateway listens. */
  readonly publicUrl: () => string;
  readonly now: () => Date;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

export const clock = (): number => performance.now();
export const now = (): Date => new Date();

/** Where clients call the API: the public address with the base path. */
export const apiUrl = ({ config, publicUrl }: Kit): string => `${publicUrl()}${config.RUNLEDGER_BASE_PATH}`;
