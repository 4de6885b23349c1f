import type { StreamInfo } from '@nats-io/jetstream';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { streamState, streamStateFrom } from './leader-read.ts';

/** In the metadata of every stream. */
export const CREATED = 'runledger_created';

/**
 * The broker's time of a stream's creation: it distinguishes the stream from another one of the same name. `provision` writes it into
 * the metadata, which a restore keeps. The broker's own `created` is another one at each replica of a restored stream (ADR 46).
 */
export const createdOf = ({ config }: Pick<StreamInfo, 'config'>): string => {
  const created = config.metadata?.[CREATED];
  if (created !== undefined) return created;
  throw new Error(
    `Stream ${config.name} does not say when it was created (${CREATED} in its metadata). Run "runledger provision", which writes it.`,
  );
};

/** @throws {LogUnavailable} */
export const createdAt = async (log: EventLog, stream: 'RUNS' | 'FLEET'): Promise<string> =>
  createdOf(await streamState(log, stream));

/** Distinguishes this log from another one, and says how full it is. */
export interface RunsIdentity {
  readonly stream: 'RUNS';
  /** The broker's time of the stream's creation. */
  readonly created: string;
  readonly firstSequence: number;
  /** The broker's time from which on the stream has every message. */
  readonly since: string;
  readonly lastSequence: number;
  readonly bytes: number;
  /** The limit on `bytes`; -1 for no limit. */
  readonly maxBytes: number;
}

/**
 * Its last sequence is not less than that of any acknowledged message, for a log with fresh reads. A caller that knows a message
 * names its sequence: a leader that has not come so far is waited for. @throws {LogUnavailable}
 */
export const runsIdentity = async (log: EventLog, atLeast = 0): Promise<RunsIdentity> => {
  const [info, fresh = 0] = await Promise.all([streamStateFrom(log, 'RUNS', atLeast), log.freshSequence?.()]);
  const identity = runsIdentityOf(info);
  return { ...identity, lastSequence: Math.max(identity.lastSequence, fresh) };
};

export const runsIdentityOf = (info: StreamInfo): RunsIdentity => {
  const { state, config } = info;
  const created = createdOf(info);
  return {
    stream: 'RUNS',
    created,
    firstSequence: state.first_seq,
    since: sinceOf(created, state),
    lastSequence: state.last_seq,
    bytes: state.bytes,
    maxBytes: config.max_bytes,
  };
};

const sinceOf = (created: string, { messages, first_ts, last_seq, last_ts }: StreamInfo['state']): string => {
  if (messages > 0) return first_ts;
  return last_seq === 0 ? created : last_ts;
};

/** How long RUNS keeps its messages, at one moment. Times are milliseconds since 1970 on the broker's clock. */
export interface LogAge {
  readonly now: number;
  /** Milliseconds; infinite without a limit. */
  readonly maxAgeMs: number;
  /** No message that was stored before this time is in the log any more. */
  readonly beginsAt: number;
}

const NANOS_PER_MS = 1_000_000;

/** Asks the broker. @throws {LogUnavailable} */
export const readLogAge = async (log: EventLog): Promise<LogAge> => {
  const { config, state, ts } = await callBroker('reading the age of stream RUNS', () =>
    log.jsm.streams.info('RUNS'),
  );
  if (ts === undefined)
    throw new Error('The broker did not report its time: nats-server 2.10 or later is needed.');
  const now = Date.parse(ts);
  return {
    now,
    maxAgeMs: config.max_age > 0 ? config.max_age / NANOS_PER_MS : Infinity,
    beginsAt: state.messages === 0 ? now : Date.parse(state.first_ts),
  };
};
