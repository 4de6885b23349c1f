import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { BLOB_STREAMS } from '@runledger/contracts/blobs';
import { reservedBytes } from '@runledger/contracts/fold/log-capacity';
import { polledClock } from '@runledger/coordination/broker-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { readLogAge } from '@runledger/event-log/read/stream-identity';
import { streamFill } from '@runledger/event-log/provision/stream-sizes';
import { observedGauge, type Metrics } from '@runledger/service-kit/metrics';
import { projectionLag } from './views/position-watch.ts';
import type { ProjectionPositions } from './views/run-projection.ts';
import { archiveRecords, BEHIND, POSITION } from './archive/archive-walk.ts';
import type { Kit } from './kit.ts';
import type { Runs } from './runs/runs.ts';

type GaugeValue = () => number | undefined | Promise<number | undefined>;

/** Gauges of the gateway; without a value while the broker does not answer, or while they are not shown. */
const gaugesOf =
  (metrics: Metrics, isVisible = () => true) =>
  (name: string, help: string, value: GaugeValue): void =>
    observedGauge(metrics, {
      name: `runledger_gateway_${name}`,
      help,
      value: async () => {
        try {
          return isVisible() ? await value() : undefined;
        } catch (error) {
          if (error instanceof LogUnavailable) return undefined;
          throw error;
        }
      },
    });

/** How far the views are behind the log, and how long that holds what they lack. */
export const projectionGauges = (
  metrics: Metrics,
  log: EventLog,
  { position, seenPosition }: ProjectionPositions,
): void => {
  const lag = projectionLag(log);
  gaugesOf(metrics)(
    'projecting',
    '1 while this gateway keeps the views. With shared views one of all gateways does.',
    () => (position() === undefined ? 0 : 1),
  );
  const gauge = gaugesOf(metrics, () => position() !== undefined);
  gauge(
    'projection_lag_messages',
    'Messages of the log that are not in the run views yet, at the gateway that keeps them.',
    () => lag.messages(position() ?? 0),
  );
  gauge(
    'projection_lag_seconds',
    'Age of the first message that is not in the run views, at the gateway that keeps them.',
    () => lag.seconds(position() ?? 0),
  );
  gauge(
    'projection_missed_messages',
    'Messages that left the log before the run views had them, until they are taken from the archive or known to be lost, at the gateway that keeps the views; 1 while the archive may have runs of another log that they lack.',
    () => {
      const missed = seenPosition()?.missed;
      return missed ? Math.max(missed.up_to - missed.after, 1) : 0;
    },
  );
  gauge(
    'log_max_age_seconds',
    'How long the stream RUNS keeps its messages, at the gateway that keeps the views; without a value when it has no limit.',
    async () => {
      const { maxAgeMs } = await readLogAge(log);
      return Number.isFinite(maxAgeMs) ? maxAgeMs / 1_000 : undefined;
    },
  );
};

/** How old what is not archived is, and who is behind. */
export const archiveGauges = ({ log, metrics }: Kit, isProjecting: () => boolean): void => {
  const { positions, behind } = archiveRecords(log);
  const lag = projectionLag(log);
  const brokerNow = polledClock(log, 'RUNS');
  const gauge = gaugesOf(metrics.registry, isProjecting);
  gauge(
    'archive_lag_seconds',
    'Age of the first message of the log that is not archived, at the gateway that keeps the views.',
    async () => {
      const position = await positions.get(POSITION);
      return position && lag.seconds(position.value.sequence);
    },
  );
  gauge(
    'archive_organisations_behind',
    'Organisations of which a run could not be archived, at the gateway that keeps the views.',
    async () => (await behind.list(BEHIND)).length,
  );
  gauge(
    'archive_behind_seconds',
    'How long the first of these is behind; 0 for none, at the gateway that keeps the views.',
    async () => {
      const since = (await behind.list(BEHIND)).map(({ value }) => Date.parse(value.since));
      return since.length === 0 ? 0 : Math.max((await brokerNow()) - Math.min(...since), 0) / 1_000;
    },
  );
};

export const logGauges = (metrics: Metrics, log: EventLog): void => {
  const gauge = gaugesOf(metrics);
  gauge(
    'log_bytes',
    'Bytes in the stream RUNS. With the reserved bytes they stay below three quarters of its limit: else no more runs are queued.',
    async () => (await streamFill(log, 'RUNS'))?.bytes,
  );
  gauge(
    'log_limit_bytes',
    'Bytes that the stream RUNS may hold; without a value when it has no limit.',
    async () => (await streamFill(log, 'RUNS'))?.maxBytes,
  );
  gauge(
    'dead_letters',
    'Messages in DEAD_LETTERS, of all services, until they are redriven or expire.',
    async () => (await streamFill(log, 'DEAD_LETTERS'))?.messages,
  );
};

/** What this gateway holds, and how full the stores are that it writes. */
export const gatewayGauges = (
  kit: Kit,
  { capacity, subscriptions }: Runs,
  isProjecting: () => boolean,
): void => {
  const { config, log } = kit;
  const gauge = gaugesOf(kit.metrics.registry);
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
    reservedBytes(capacity.counts()),
  );
  gauge(
    'runs_live',
    'Runs of all organisations that have not ended, by the facts that this gateway has counted.',
    () => capacity.counts().live,
  );
  gauge(
    'runs_executing',
    'Runs of all organisations that are assigned to an executor, by the facts that this gateway has counted.',
    () => capacity.counts().executing,
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
  archiveGauges(kit, isProjecting);
};
