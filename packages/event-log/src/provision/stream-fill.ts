import type { BlobStream } from '@runledger/contracts/blobs';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { replicasOf, type Replicas } from './replicas.ts';

/** How full a stream is. */
export interface StreamFill {
  readonly messages: number;
  readonly bytes: number;
  /** Undefined when it has no limit. */
  readonly maxBytes: number | undefined;
  readonly lastSequence: number;
  readonly replicas: Replicas;
}

/** A metric is not worth a longer wait. */
const WITHIN_MS = 1_000;

/** For metrics; undefined while the broker does not respond. */
export const streamFill = async (
  log: EventLog,
  stream: 'RUNS' | 'TIMERS' | 'DEAD_LETTERS' | BlobStream,
): Promise<StreamFill | undefined> => {
  if (!log.connected()) return undefined;
  try {
    const info = await callBroker(
      `reading the state of stream ${stream}`,
      () => log.jsm.streams.info(stream),
      WITHIN_MS,
    );
    const { state, config } = info;
    return {
      messages: state.messages,
      bytes: state.bytes,
      maxBytes: config.max_bytes > 0 ? config.max_bytes : undefined,
      lastSequence: state.last_seq,
      replicas: replicasOf(info),
    };
  } catch (error) {
    // One missing metric must not hide all others.
    log.logger.debug({ err: error, stream }, 'the fill of a stream could not be read');
    return undefined;
  }
};
