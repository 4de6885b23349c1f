import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { BLOB_STREAMS } from '@runledger/contracts/blobs';
import { reservedBytes } from '@runledger/contracts/fold/log-capacity';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import { streamFill } from '@runledger/event-log/provision/stream-sizes';
import { observedGauge, type Metrics } from '@runledger/service-kit/metrics';
import { projectionLag } from './views/position-watch.ts';
import type { RunProjection } from './views/run-projection.ts';
import { archiveGauges } from './archive/archive.ts';
import type { Kit } from './kit.ts';
import type { Runs } from './runs/runs.ts';

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

/** What this gateway holds, and how full the stores are that it writes. */
export const gatewayGauges = (kit: Kit, { room, subscriptions }: Runs, isProjecting: () => boolean): void => {
  const { config, log } = kit;
  const gauge = (name: string, help: string, value: () => number | undefined | Promise<number | undefined>) =>
    observedGauge(kit.metrics.registry, { name: `runledger_gateway_${name}`, help, value });
  for (const stream of [...BLOB_STREAMS, ...AUDIT_STREAMS]) {
    const name = stream.toLowerCase();
    gauge(
      `${name}_bytes`,
      `Bytes in the stream ${stream}.`,
      async () => (await streamFill(log, stream))?.bytes,
    );
    gauge(
      `${name}_limit_bytes`,
      `Bytes that the stream ${stream} may hold; without a value when it has no limit.`,
      async () => (await streamFill(log, stream))?.maxBytes,
    );
  }
  gauge('log_reserved_bytes', 'Bytes of the stream RUNS that accepted runs may still write.', () =>
    reservedBytes(room.counts()),
  );
  gauge(
    'runs_live',
    'Runs of all organisations that have not ended, by the facts that this gateway has counted.',
    () => room.counts().live,
  );
  gauge(
    'runs_executing',
    'Runs of all organisations that are assigned to an executor, by the facts that this gateway has counted.',
    () => room.counts().executing,
  );
  gauge(
    'open_streams',
    'Event streams that are open.',
    () => subscriptions.subscribers() - subscriptions.waits(),
  );
  gauge('open_waits', 'Requests that wait for the end of a run.', () => subscriptions.waits());
  gauge(
    'subscriptions_limit',
    'How many streams and waits this gateway may hold open.',
    () => config.RUNLEDGER_STREAMS_MAX,
  );
  if (config.RUNLEDGER_ARCHIVE !== 'none') archiveGauges(kit, isProjecting);
};
