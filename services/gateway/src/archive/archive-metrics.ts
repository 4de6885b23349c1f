import { polledClock } from '@runledger/coordination/polled-clock';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { messagesOf } from '@runledger/event-log/messages/messages-of';
import { createdAt } from '@runledger/event-log/messages/stream-identity';
import { Counter, observedGauge, type Metrics } from '@runledger/service-kit/observability/metrics';
import { positionKey, type ArchiveRecords, type SegmentRecord } from './store/archive-records.ts';

export interface ArchiveMetrics {
  readonly sealed: (segment: Pick<SegmentRecord, 'messages' | 'bytes'>) => void;
  readonly lost: (messages: number) => void;
  readonly failed: () => void;
}

export const archiveMetrics = (registry: Metrics): ArchiveMetrics => {
  const counter = (name: string, help: string): Counter =>
    new Counter({ name: `runledger_gateway_archive_${name}_total`, help, registers: [registry] });
  const segments = counter('segments', 'Segments that this gateway wrote and read back.');
  const messages = counter('messages', 'Messages of runs in segments that this gateway wrote.');
  const bytes = counter('bytes', 'Bytes of segments that this gateway wrote.');
  const lost = counter('lost_messages', 'Messages that left the log before they were archived.');
  const failures = counter('failures', 'Rounds of the archive that failed. The service log says why.');
  return {
    sealed: (segment) => {
      segments.inc();
      messages.inc(segment.messages);
      bytes.inc(segment.bytes);
    },
    lost: (count) => lost.inc(count),
    failed: () => failures.inc(),
  };
};

/** How old what is not archived is. It has no value while another gateway projects. */
export const archiveGauges = (
  metrics: Metrics,
  { log, records }: { readonly log: EventLog; readonly records: Pick<ArchiveRecords, 'positions'> },
  isProjecting: () => boolean,
): void => {
  const brokerNow = polledClock(log, 'RUNS');
  const lag = async (): Promise<number | undefined> => {
    const position = await records.positions.get(positionKey(await createdAt(log, 'RUNS')));
    if (!position) return undefined;
    const next = await messagesOf(log).next('>', position.value.sequence + 1);
    return next ? Math.max((await brokerNow()) - Date.parse(next.time), 0) / 1_000 : 0;
  };
  observedGauge(metrics, {
    name: 'runledger_gateway_archive_lag_seconds',
    help: 'Age of the first message of the log that is not archived, at the gateway that keeps the views.',
    value: async () => {
      if (!isProjecting()) return undefined;
      return lag().catch((error: unknown) => {
        if (error instanceof LogUnavailable) return undefined;
        throw error;
      });
    },
  });
};
