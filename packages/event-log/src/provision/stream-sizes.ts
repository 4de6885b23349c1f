import type { StreamInfo } from '@nats-io/jetstream';
import { millis } from '@nats-io/transport-node';
import type { AuditStream } from '@runledger/contracts/audit-actions';
import type { BlobStream } from '@runledger/contracts/blobs';
import { within } from '@runledger/resilience/within';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { ALL_STREAMS } from './plan-streams.ts';
import { replicasOf } from './replicas.ts';

/** What a stream holds, and what it may hold. Buckets and object stores are streams too. */
export interface StreamSize {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** Undefined when it has no limit. */
  readonly maxBytes: number | undefined;
  /** Undefined when its messages do not expire by their age. */
  readonly maxAgeMs: number | undefined;
  readonly copies: { readonly wanted: number; readonly current: number };
  /** The broker that leads it; undefined of a single broker, and during an election. */
  readonly leader: string | undefined;
}

/** All streams of the log, in their order; undefined for one whose leader does not respond within a second. */
export const streamSizes = (
  log: EventLog,
): Promise<readonly { readonly name: string; readonly size: StreamSize | undefined }[]> =>
  Promise.all(ALL_STREAMS.map(async (name) => ({ name, size: await inTime(sizeOf(log, name)) })));

const sizeOf = async (log: EventLog, name: string): Promise<StreamSize | undefined> => {
  const info = await stateOf(log, name);
  if (!info) return undefined;
  const { state, config, cluster } = info;
  const { wanted, current } = replicasOf(info, log.nc.info?.server_name);
  return {
    name,
    messages: state.messages,
    bytes: state.bytes,
    maxBytes: config.max_bytes > 0 ? config.max_bytes : undefined,
    maxAgeMs: config.max_age > 0 ? millis(config.max_age) : undefined,
    copies: { wanted, current },
    leader: cluster?.name === undefined ? undefined : cluster.leader,
  };
};

const WITHIN_MS = 1_000;

/** A request of the driver takes longer by itself, when the broker does not respond. */
const inTime = <Value>(work: Promise<Value | undefined>): Promise<Value | undefined> =>
  within(WITHIN_MS, work, () => undefined);

interface StorageUse {
  /** Bytes of all copies of all streams. */
  readonly usedBytes: number;
  /** Undefined when the account of the log has no limit of its own. */
  readonly limitBytes: number | undefined;
}

/** What the log takes at its brokers; undefined while they do not respond within a second. What their disks have left, they tell no service. */
export const storageUse = (log: EventLog): Promise<StorageUse | undefined> => inTime(readUse(log));

const readUse = async (log: EventLog): Promise<StorageUse | undefined> => {
  if (!log.connected()) return undefined;
  try {
    const ask = () => log.jsm.getAccountInfo();
    const { storage, limits } = await callBroker('reading what the log takes', ask, WITHIN_MS);
    return { usedBytes: storage, limitBytes: limits.max_storage > 0 ? limits.max_storage : undefined };
  } catch (error) {
    log.logger.debug({ err: error }, 'what the log takes could not be read');
    return undefined;
  }
};

/** How full a stream is. */
export interface StreamFill {
  readonly messages: number;
  readonly bytes: number;
  /** Undefined when it has no limit. */
  readonly maxBytes: number | undefined;
  readonly lastSequence: number;
}

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
