import type { ConsumerConfig, ConsumerInfo, StreamInfo } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { unlessAborted } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { streamStateFrom } from '../messages/leader-state.ts';

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
  delete(): Promise<void>;
}

const EXPIRES_MS = 300_000;
/** Executors have their consumers there, so nobody may delete any: an abandoned one expires sooner. */
const SHARED = 'RUNS';
const SHARED_EXPIRES_MS = 15_000;

/** Creates a consumer that the broker keeps in memory only. @throws {LogUnavailable} @throws what `begin` throws */
export const openEphemeralConsumer = async (
  log: EventLog,
  { stream, subjects, headersOnly = false, readUpTo, begin }: EphemeralConsumerOptions,
): Promise<EphemeralConsumer> => {
  const start = begin(await streamStateFrom(log, stream, readUpTo?.() ?? 0));
  const config: Partial<ConsumerConfig> = {
    ...start,
    ack_policy: 'none',
    max_deliver: 1,
    filter_subjects: [...subjects],
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
