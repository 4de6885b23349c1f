import type { StreamInfo } from '@nats-io/jetstream';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import type { RunLog } from './run-messages.ts';
import { fromStored } from './stored-message.ts';

/** One message, from the stream's leader; undefined when the stream does not hold it, or no longer. @throws {LogUnavailable} */
export const readStored = async (
  log: RunLog,
  sequence: number,
  stream: 'RUNS' | 'FLEET' = 'RUNS',
): Promise<StoredMessage | undefined> => {
  if ('messages' in log) {
    const next = stream === 'RUNS' ? await log.messages.next('>', sequence) : undefined;
    return next?.sequence === sequence ? next : undefined;
  }
  const read = () => log.jsm.streams.getMessage(stream, { seq: sequence });
  const message = await callBroker(`reading message ${sequence} of ${stream}`, read);
  return message ? fromStored(message) : undefined;
};

/** The broker's time of a stream's creation: it distinguishes the stream from another one of the same name. */
export const createdAt = async (log: EventLog, stream: 'RUNS' | 'FLEET'): Promise<string> =>
  (await callBroker(`reading the state of stream ${stream}`, () => log.jsm.streams.info(stream))).created;

/** Distinguishes this log from another one, and says how full it is. */
export interface RunsIdentity {
  readonly stream: 'RUNS';
  /** The broker's time of the stream's creation. */
  readonly created: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: number;
  /** The limit on `bytes`; -1 for no limit. */
  readonly maxBytes: number;
}

/** Its last sequence is not less than that of any acknowledged message, for a log with fresh reads. @throws {LogUnavailable} */
export const runsIdentity = async (log: EventLog): Promise<RunsIdentity> => {
  const [info, fresh = 0] = await Promise.all([
    callBroker('reading the state of stream RUNS', () => log.jsm.streams.info('RUNS')),
    log.freshSequence?.(),
  ]);
  const identity = runsIdentityOf(info);
  return { ...identity, lastSequence: Math.max(identity.lastSequence, fresh) };
};

export const runsIdentityOf = ({ created, state, config }: StreamInfo): RunsIdentity => ({
  stream: 'RUNS',
  created,
  firstSequence: state.first_seq,
  lastSequence: state.last_seq,
  bytes: state.bytes,
  maxBytes: config.max_bytes,
});
