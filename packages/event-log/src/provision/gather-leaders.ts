import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { replicasOf } from './replicas.ts';
import { stateOf } from './stream-fill.ts';

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
