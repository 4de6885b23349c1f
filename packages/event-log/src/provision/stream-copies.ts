import { sleep, untilAborted } from '@runledger/resilience/abort';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { replicasOf, type Replicas } from './replicas.ts';
import { stateOf } from './stream-sizes.ts';

export interface CopiesObserver {
  /** The copies of a stream at present; undefined: its leader does not respond. Must not throw. */
  copies(stream: string, now: Replicas | undefined): void;
}

export interface CopiesWatch extends AsyncDisposable {
  /** As they were last seen, by stream. */
  readonly latest: ReadonlyMap<string, Replicas | undefined>;
}

/** One small request for each stream. Alerts wait for minutes. */
const LOOK_EVERY_MS = 10_000;

/** Looks at the copies of these streams from time to time, and tells the observer. */
export const watchCopies = (
  log: EventLog,
  streams: readonly string[],
  observer?: CopiesObserver,
): CopiesWatch => {
  const latest = new Map<string, Replicas | undefined>();
  const stopping = new AbortController();
  const look = async (stream: string): Promise<void> => {
    const info = await stateOf(log, stream);
    if (stopping.signal.aborted) return;
    const now = info && replicasOf(info, log.nc.info?.server_name);
    latest.set(stream, now);
    observer?.copies(stream, now);
  };
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await untilAborted(Promise.all(streams.map(look)), stopping.signal);
      await sleep(LOOK_EVERY_MS, stopping.signal);
    }
  };
  const watching = watch();
  return {
    latest,
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await watching;
    },
  };
};

const RUNS = 'RUNS';
const RESPONSE_WITHIN_MS = 2_000;
/** A repeated request could reach the new leader. */
const ONCE = 0;

/**
 * Lets the broker that leads RUNS lead these streams too, so that no request waits for an election when another broker is lost (ADR 49).
 * To be called from time to time: it moves the leader of a stream that has all its copies, once RUNS has had its leader for two calls.
 * Needs nothing of a single broker. @throws {LogUnavailable}
 */
export const leaderGathering = (
  log: EventLog,
  streams: readonly string[],
): ((stop: AbortSignal) => Promise<void>) => {
  let before: string | undefined;
  return async (stop) => {
    const leader = await leaderOfWhole(log, RUNS);
    const isSettled = leader !== undefined && leader === before;
    before = leader;
    if (!isSettled) return;
    for (const stream of streams) {
      if (stop.aborted) return;
      const present = await leaderOfWhole(log, stream);
      if (present !== undefined && present !== leader) await move(log, stream, leader);
    }
  };
};

/** The broker that leads a stream; undefined when it has one copy, or when a copy is away or behind. */
const leaderOfWhole = async (log: EventLog, stream: string): Promise<string | undefined> => {
  const info = await stateOf(log, stream);
  if (!info) return undefined;
  const { wanted, current } = replicasOf(info);
  return wanted > 1 && current === wanted ? info.cluster?.leader : undefined;
};

const move = async (log: EventLog, stream: string, broker: string): Promise<void> => {
  const wanted = JSON.stringify({ placement: { preferred: broker } });
  const subject = `${log.apiPrefix}.STREAM.LEADER.STEPDOWN.${stream}`;
  const ask = () => log.nc.request(subject, wanted, { timeout: RESPONSE_WITHIN_MS });
  const { error } = (await callBroker(`moving the leader of stream ${stream}`, ask, ONCE)).json<{
    error?: unknown;
  }>();
  if (error === undefined)
    log.logger.info({ stream, broker }, 'the broker that leads RUNS leads a stream too');
  else log.logger.warn({ stream, broker, error }, 'the leader of a stream could not be moved');
};
