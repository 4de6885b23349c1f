import type { StreamInfo } from '@nats-io/jetstream';
import type { AuditStream } from '@runledger/contracts/audit/audit-rings';
import type { BlobStream } from '@runledger/contracts/blobs';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';

/** How full a stream is. */
export interface StreamFill {
  readonly messages: number;
  readonly bytes: number;
  /** Undefined when it has no limit. */
  readonly maxBytes: number | undefined;
  readonly lastSequence: number;
}

/** A metric is not worth a longer wait. */
const WITHIN_MS = 1_000;

/** For metrics; undefined while the broker does not respond. */
export const streamFill = async (
  log: EventLog,
  stream: 'RUNS' | 'TIMERS' | 'DEAD_LETTERS' | AuditStream | BlobStream,
): Promise<StreamFill | undefined> => {
  const info = await stateOf(log, stream);
  return (
    info && {
      messages: info.state.messages,
      bytes: info.state.bytes,
      maxBytes: info.config.max_bytes > 0 ? info.config.max_bytes : undefined,
      lastSequence: info.state.last_seq,
    }
  );
};

/** Undefined while the broker does not respond. */
export const stateOf = async (log: EventLog, stream: string): Promise<StreamInfo | undefined> => {
  if (!log.connected()) return undefined;
  try {
    return await callBroker(
      `reading the state of stream ${stream}`,
      () => log.jsm.streams.info(stream),
      WITHIN_MS,
    );
  } catch (error) {
    // One missing metric must not hide all others.
    log.logger.debug({ err: error, stream }, 'the state of a stream could not be read');
    return undefined;
  }
};
