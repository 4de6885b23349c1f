import type { StoredMsg, StreamInfo } from '@nats-io/jetstream';
import { sleep } from '@runledger/resilience/abort';
import { backoff } from '@runledger/resilience/backoff';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { callBroker } from '../connect/broker-call.ts';
import { LogUnavailable, type EventLog } from '../connect/event-log.ts';

/** The last message under a filter, from the stream's leader: never older than an acknowledgement. */
export const lastMessage = (
  log: EventLog,
  stream: string,
  filter: string,
  withinMs?: number,
): Promise<StoredMsg | null> =>
  callBroker(
    `reading the last message under ${filter}`,
    () => log.jsm.streams.getMessage(stream, { last_by_subj: filter }),
    withinMs,
  );

/** The first message under a filter from a sequence on, from the stream's leader. */
export const nextMessage = (
  log: EventLog,
  stream: string,
  from: number,
  filter: string,
  withinMs?: number,
): Promise<StoredMsg | null> => {
  // The driver types this request for direct reads only; the broker accepts it here as well.
  const query = { seq: from, next_by_subj: filter };
  return callBroker(
    `reading the message under ${filter} from ${from} on`,
    () => log.jsm.streams.getMessage(stream, query),
    withinMs,
  );
};

/** The sequence of the last message under a filter, from the stream's leader; 0 for none. */
export const lastSequence = async (
  log: EventLog,
  stream: string,
  filter: string,
  withinMs?: number,
): Promise<number> => (await lastMessage(log, stream, filter, withinMs))?.seq ?? 0;

/** A server that led the stream and is cut off from the others responds as its leader for some ten seconds. */
const FORMER_LEADER_MS = 15_000;
const DELAYS = { firstMs: 2, longestMs: 100 };
/** How long a log with one copy counts as such. An operator may add copies. */
export const ONE_COPY_FOR_MS = 10_000;

/** The state of a stream, from its leader. @throws {LogUnavailable} */
export const streamState = (log: EventLog, stream: string): Promise<StreamInfo> =>
  callBroker(`reading the state of stream ${stream}`, () => log.jsm.streams.info(stream));

/** Asks the leader until a response is enough, or for 15 s: a former leader does not respond as one for longer. The last response. */
export const leaderReadUntil = async <Response>(
  ask: () => Promise<Response>,
  isEnough: (response: Response) => boolean,
): Promise<Response> => {
  const deadline = performance.now() + FORMER_LEADER_MS;
  const delays = backoff(DELAYS);
  for (;;) {
    const response = await ask();
    const isLate = performance.now() > deadline;
    if (isEnough(response) || isLate) return response;
    await sleep(delays.next());
  }
};

/**
 * The state of a stream when its leader has this message. A replica may have it, and a consumer may deliver it, some milliseconds
 * before the leader applies it; a former leader never has it. After 15 s the state as it is: the stream has lost its end.
 * @throws {LogUnavailable}
 */
export const streamStateFrom = (log: EventLog, stream: string, sequence: number): Promise<StreamInfo> =>
  leaderReadUntil(
    () => streamState(log, stream),
    ({ state, config }) => state.last_seq >= sequence || config.num_replicas === 1,
  );

interface Settled {
  upTo: number;
  oneCopyUntil: number;
  /** Concurrent callers share the request. */
  readonly read: () => Promise<void>;
}

const settledOf = new WeakMap<EventLog, Settled>();

/**
 * Resolves when the leader of RUNS has this message. What a replica said before may be told then: every later read that proves
 * that it is not stale has it too. @throws {LogUnavailable} when the leader does not get it
 */
export const settled = async (log: EventLog, sequence: number): Promise<void> => {
  const known = settledStateOf(log);
  const isKnown = (): boolean => known.upTo >= sequence || performance.now() < known.oneCopyUntil;
  if (isKnown()) return;
  await known.read();
  if (isKnown()) return;
  noteSettled(log, (await streamStateFrom(log, 'RUNS', sequence)).state.last_seq);
  if (isKnown()) return;
  throw new LogUnavailable(
    `a replica of RUNS has message ${sequence}, and the leader does not have it after ${FORMER_LEADER_MS} ms. ` +
      'Check that all brokers of the cluster run and reach each other.',
  );
};

/** The leader of RUNS had this message. */
export const noteSettled = (log: EventLog, sequence: number): void => {
  settledStateOf(log).upTo = sequence;
};

const settledStateOf = (log: EventLog): Settled => {
  const present = settledOf.get(log);
  if (present) return present;
  const known: Settled = {
    upTo: 0,
    oneCopyUntil: -Infinity,
    read: oneAtATime(async () => {
      const { state, config } = await streamState(log, 'RUNS');
      if (config.num_replicas === 1) known.oneCopyUntil = performance.now() + ONE_COPY_FOR_MS;
      // It may be less than before, when the log has lost its end.
      known.upTo = state.last_seq;
    }),
  };
  settledOf.set(log, known);
  return known;
};
