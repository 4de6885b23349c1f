import type { StreamInfo } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { EventLog } from '../connect/event-log.ts';
import { nextMessage } from './leader-read.ts';
import { askLeader, streamState, streamStateFrom } from './leader-state.ts';
import type { RunLog } from './run-messages.ts';
import { fromStored } from './stored-message.ts';

/**
 * One message, from the stream's leader; undefined when the stream does not hold it, or no longer. A leader that has not come so far
 * is waited for. @throws {LogUnavailable}
 */
export const readStored = async (
  log: RunLog,
  sequence: number,
  stream: 'RUNS' | 'FLEET' = 'RUNS',
): Promise<StoredMessage | undefined> => {
  if ('messages' in log) {
    const next = stream === 'RUNS' ? await log.messages.next('>', sequence) : undefined;
    return next?.sequence === sequence ? next : undefined;
  }
  // A later message proves that this one is gone. The state does not: until a former leader hears from the others again, it may give
  // one of the two responses.
  const { next } = await askLeader(
    async () => {
      const found = await nextMessage(log, stream, sequence, '>');
      return { next: found, info: found ? undefined : await streamState(log, stream) };
    },
    ({ info }) => !info || info.config.num_replicas === 1 || info.state.first_seq > sequence,
  );
  return next?.seq === sequence ? fromStored(next) : undefined;
};

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
