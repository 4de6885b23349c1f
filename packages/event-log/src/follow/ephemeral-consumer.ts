import type { ConsumerConfig, ConsumerInfo, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { unlessAborted } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { streamStateFrom } from '../read/leader-read.ts';
import { matchesAny } from '@runledger/contracts/events/subjects';

export type StartPosition = Pick<ConsumerConfig, 'deliver_policy'> & { readonly opt_start_seq?: number };

export interface EphemeralConsumerOptions {
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Without the payloads, for a reader that needs only the subjects. */
  readonly headersOnly?: boolean;
  /** The sequence up to which the reader has read. A leader that has not come so far is waited for. */
  readonly readUpTo?: () => number;
  readonly begin: (info: StreamInfo) => StartPosition;
}

export interface EphemeralConsumer {
  readonly info: ConsumerInfo;
  /** The number of messages that were stored when it was created. */
  readonly pending: number;
  /** Where it begins; 0 for all messages. */
  readonly from: number;
  /** Whether the reader asked for what has this subject. The consumer may deliver more. */
  readonly isWanted: (subject: string) => boolean;
  delete(): Promise<void>;
}

const EXPIRES_MS = 300_000;
/** Executors have their consumers there, so nobody may delete any: an abandoned one expires sooner. */
const SHARED = 'RUNS';
const SHARED_EXPIRES_MS = 15_000;
/**
 * A reader of RUNS that begins further behind filters by itself. To create a consumer with filters, the broker compares them with each
 * subject of the stream, which are as many as facts, and stores nothing meanwhile: 2 to 4 s with two million of them.
 */
const FAR_BEHIND = 10_000;

/** Creates a consumer that the broker keeps in memory only. @throws {LogUnavailable} @throws what `begin` throws */
export const openEphemeralConsumer = async (
  log: EventLog,
  { stream, subjects, headersOnly = false, readUpTo, begin }: EphemeralConsumerOptions,
): Promise<EphemeralConsumer> => {
  const info = await streamStateFrom(log, stream, readUpTo?.() ?? 0);
  const start = begin(info);
  const isFarBehind =
    stream === SHARED && info.state.last_seq - (start.opt_start_seq ?? Infinity) > FAR_BEHIND;
  const config: Partial<ConsumerConfig> = {
    ...start,
    ack_policy: 'none',
    max_deliver: 1,
    filter_subjects: isFarBehind ? [] : [...subjects],
    headers_only: headersOnly,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanos(stream === SHARED ? SHARED_EXPIRES_MS : EXPIRES_MS),
  };
  const created = await callBroker(`reading stream ${stream}`, () => log.jsm.consumers.add(stream, config));
  return {
    info: created,
    pending: created.num_pending,
    from: start.opt_start_seq ?? 0,
    isWanted: (subject) => !isFarBehind || matchesAny(subjects, subject),
    delete: async () => {
      // It expires in any case.
      if (!log.connected() || stream === SHARED) return;
      await log.jsm.consumers.delete(stream, created.name).catch(() => false);
    },
  };
};

/** Deletes a consumer that is created after the signal. @throws the signal's reason */
export const openUnlessAborted = async (
  log: EventLog,
  options: EphemeralConsumerOptions,
  signal: AbortSignal,
): Promise<EphemeralConsumer> => {
  const opening = openEphemeralConsumer(log, options);
  try {
    return await unlessAborted(opening, signal);
  } catch (error) {
    if (signal.aborted) void opening.then((late) => late.delete()).catch(() => undefined);
    throw error;
  }
};
