import { sleep } from '@runledger/resilience/abort';
import { brokerSettings, type BrokerConfig } from '../connect/broker-config.ts';
import { isTransient } from '../connect/broker-call.ts';
import { LogUnavailable, openEventLog, type EventLog } from '../connect/event-log.ts';
import type { LogObserver, Logger, Readiness } from '../connect/observability.ts';
import { NotAllowed } from '../connect/connect-broker.ts';
import { closedAs, whyClosed } from './check-stream.ts';
import { describeLost, lostFacts, rangesText, untilWhole, type LostFacts } from './lost-facts.ts';
import { ALL_STREAMS } from './plan-streams.ts';
import { awaitProvisioned } from './provision.ts';
import { noteOn, replicasOf } from './replicas.ts';
import { watchCopies, type CopiesObserver, type CopiesWatch } from './stream-copies.ts';

/** What a service has before it connects. */
export interface ServiceLogOptions {
  readonly config: BrokerConfig;
  /** The broker shows it with the connection. */
  readonly instance: string;
  readonly logger: Logger;
  readonly observer?: LogObserver & CopiesObserver;
  /** The checks behind `/readyz`. */
  readonly checks: Record<string, () => Readiness | Promise<Readiness>>;
  /** The streams that must exist first; all streams when left out. A service without permission to read stream states names none, and its first request shows whether they exist. */
  readonly streams?: readonly string[];
  /** Called when RUNS has lost facts before their time, before the wait for an operator begins: says whose they were. */
  readonly onLost?: (lost: LostFacts) => Promise<void>;
}

const RETRY_MS = 1_000;
const RUNS = 'RUNS';

/**
 * Opened first by every service: the log, connected and provisioned, and the checks that report what is missing. A service may
 * start before the broker, before the broker knows its key, and before the log is provisioned.
 * @throws the reason of `stopping`, LogClosed and ForbiddenConfiguration
 */
export const openServiceLog = async (
  beginning: ServiceLogOptions,
  open: AsyncDisposableStack,
  stopping: AbortSignal,
): Promise<EventLog> => {
  const { checks, streams = ALL_STREAMS, observer } = beginning;
  const unavailable: Readiness = { ok: false, why: 'the broker is unavailable' };
  checks['broker'] = () => unavailable;
  const log = open.use(await connectOnceAllowed(beginning, stopping));
  checks['broker'] = () => (log.connected() ? { ok: true } : unavailable);
  const [first] = streams;
  if (first === undefined) return log;
  checks['provisioned'] = () => ({
    ok: false,
    why: 'the streams and buckets of the log do not exist yet; runledger provision creates them',
  });
  await awaitProvisioned(log, stopping, streams);
  checks['provisioned'] = () => ({ ok: true });
  if (streams.includes(RUNS)) await awaitWhole(log, beginning, stopping);
  const copies = open.use(watchCopies(log, streams, observer));
  const stream = streams.includes(RUNS) ? RUNS : first;
  checks['log'] = () => whetherItResponds(log, stream, copies);
  return log;
};

/** Services decide nothing from a log that has lost facts, until an operator does without them or has put them back. */
const awaitWhole = (
  log: EventLog,
  { checks, logger, onLost }: Pick<ServiceLogOptions, 'checks' | 'logger' | 'onLost'>,
  stopping: AbortSignal,
): Promise<void> =>
  untilWhole(log, stopping, async (lost, isFirst) => {
    checks['log'] = () => ({ ok: false, why: describeLost(lost) });
    if (!isFirst) return;
    logger.error({ ranges: rangesText(lost.ranges) }, describeLost(lost));
    await onLost?.(lost);
  });

/** A broker that is connected may be frozen, or have no quorum with the others. A check is given a second. */
const whetherItResponds = async (
  log: EventLog,
  stream: string,
  { latest }: CopiesWatch,
): Promise<Readiness> => {
  try {
    const info = await log.jsm.streams.info(stream);
    const closed = closedAs(info.config);
    if (closed !== undefined) return { ok: false, why: whyClosed(stream, closed) };
    const replicas = replicasOf(info, log.nc.info?.server_name);
    if (!replicas.hasQuorum) {
      return {
        ok: false,
        why: `stream ${stream} stores nothing: its leader does not reach ${replicas.away.join(' and ')}`,
      };
    }
    // Of several brokers, a former leader has not the latest facts either, for some seconds.
    const lost = stream === RUNS && info.config.num_replicas === 1 ? await lostFacts(log) : undefined;
    if (lost !== undefined) return { ok: false, why: describeLost(lost) };
    const note = noteOn(stream, replicas, latest);
    return note === undefined ? { ok: true } : { ok: true, note };
  } catch (error) {
    if (!isTransient(error) && !(error instanceof LogUnavailable)) throw error;
    return { ok: false, why: `the log does not respond: stream ${stream} has no leader, or it is slow` };
  }
};

/** The broker may not have loaded the configuration with this key yet. */
const connectOnceAllowed = async (
  { config, instance, logger, observer, checks }: ServiceLogOptions,
  stopping: AbortSignal,
): Promise<EventLog> => {
  for (let logged = false; ; logged = true) {
    try {
      return await openEventLog(brokerSettings(config, instance), logger, stopping, observer);
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      if (!logged)
        logger.error({ err: error }, 'the broker rejects this service; trying again until it accepts');
      checks['broker'] = () => NOT_ALLOWED;
      await sleep(RETRY_MS, stopping);
      stopping.throwIfAborted();
    }
  }
};

const NOT_ALLOWED: Readiness = {
  ok: false,
  why:
    'the broker rejects this service: its key is not in the configuration that the broker has loaded; ' +
    'runledger broker-config creates both',
};
