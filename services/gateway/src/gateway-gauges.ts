import { AUDIT_STREAMS } from '@runledger/contracts/audit/audit-rings';
import { BLOB_STREAMS } from '@runledger/contracts/blobs';
import { reservedBytes } from '@runledger/contracts/room/reservation';
import type { RunCounts } from '@runledger/contracts/room/run-counts';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge } from '@runledger/event-log/messages/log-age';
import { streamFill } from '@runledger/event-log/provision/stream-fill';
import { observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { projectionLag } from './views/position-watch.ts';
import type { RunProjection } from './views/run-projection.ts';
import type { RunSubscriptions } from './runs/run-subscriptions.ts';

/** How far the views are behind the log, and how long that holds what they lack. They have no value while another gateway projects. */
export const projectionGauges = (
  metrics: Metrics,
  log: EventLog,
  { position, seenPosition }: Pick<RunProjection, 'position' | 'seenPosition'>,
): void => {
  const lag = projectionLag(log);
  observedGauge(metrics, {
    name: 'runledger_gateway_projecting',
    help: '1 while this gateway keeps the views. With shared views one of all gateways does.',
    value: () => (position() === undefined ? 0 : 1),
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_projection_lag_messages',
    help: 'Messages of the log that are not in the run views yet, at the gateway that keeps them.',
    value: async () => {
      const present = position();
      return present === undefined ? undefined : lag.messages(present);
    },
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_projection_lag_seconds',
    help: 'Age of the first message that is not in the run views, at the gateway that keeps them.',
    value: async () => {
      const present = position();
      return present === undefined ? undefined : lag.seconds(present);
    },
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_projection_missed_messages',
    help: 'Messages that left the log before the run views had them, until they are taken from the archive or known to be lost, at the gateway that keeps the views.',
    value: () => {
      const missed = seenPosition()?.missed;
      return position() === undefined ? undefined : missed ? missed.up_to - missed.after : 0;
    },
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_log_max_age_seconds',
    help: 'How long the stream RUNS keeps its messages, at the gateway that keeps the views; without a value when it has no limit.',
    value: async () => {
      const age = position() === undefined ? undefined : await readLogAge(log).catch(unlessUnavailable);
      return age && Number.isFinite(age.maxAgeMs) ? age.maxAgeMs / 1_000 : undefined;
    },
  });
};

const unlessUnavailable = (error: unknown): undefined => {
  if (!(error instanceof LogUnavailable)) throw error;
};

export const logGauges = (metrics: Metrics, log: EventLog): void => {
  observedGauge(metrics, {
    name: 'runledger_gateway_log_bytes',
    help: 'Bytes in the stream RUNS. With the reserved bytes they stay below three quarters of its limit: else no more runs are queued.',
    value: async () => (await streamFill(log, 'RUNS'))?.bytes,
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_log_limit_bytes',
    help: 'Bytes that the stream RUNS may hold; without a value when it has no limit.',
    value: async () => (await streamFill(log, 'RUNS'))?.maxBytes,
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_dead_letters',
    help: 'Messages in DEAD_LETTERS, of all services, until they are redriven or expire.',
    value: async () => (await streamFill(log, 'DEAD_LETTERS'))?.messages,
  });
};

/** How full the stores of blobs and the audit streams are. */
export const fillGauges = (metrics: Metrics, log: EventLog): void => {
  for (const stream of [...BLOB_STREAMS, ...AUDIT_STREAMS]) {
    const name = `runledger_gateway_${stream.toLowerCase()}`;
    observedGauge(metrics, {
      name: `${name}_bytes`,
      help: `Bytes in the stream ${stream}.`,
      value: async () => (await streamFill(log, stream))?.bytes,
    });
    observedGauge(metrics, {
      name: `${name}_limit_bytes`,
      help: `Bytes that the stream ${stream} may hold; without a value when it has no limit.`,
      value: async () => (await streamFill(log, stream))?.maxBytes,
    });
  }
};

/** What accepted runs may still write. */
export const roomGauges = (metrics: Metrics, counts: () => RunCounts): void => {
  observedGauge(metrics, {
    name: 'runledger_gateway_log_reserved_bytes',
    help: 'Bytes of the stream RUNS that accepted runs may still write.',
    value: () => reservedBytes(counts()),
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_runs_live',
    help: 'Runs of all organisations that have not ended, by the facts that this gateway has counted.',
    value: () => counts().live,
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_runs_executing',
    help: 'Runs of all organisations that are assigned to an executor, by the facts that this gateway has counted.',
    value: () => counts().executing,
  });
};

export const subscriptionGauges = (
  metrics: Metrics,
  subscriptions: Pick<RunSubscriptions, 'subscribers' | 'waits'>,
  most: number,
): void => {
  observedGauge(metrics, {
    name: 'runledger_gateway_open_streams',
    help: 'Event streams that are open.',
    value: () => subscriptions.subscribers() - subscriptions.waits(),
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_open_waits',
    help: 'Requests that wait for the end of a run.',
    value: () => subscriptions.waits(),
  });
  observedGauge(metrics, {
    name: 'runledger_gateway_subscriptions_limit',
    help: 'How many streams and waits this gateway may hold open.',
    value: () => most,
  });
};
