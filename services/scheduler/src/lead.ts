import { type BrokerClock, readBrokerTime } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { untilAborted, sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { acquireLease, LEASE_TTL_MS, type Lease } from '@runledger/coordination/lease';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { beginTerm, announceTerm } from '@runledger/event-log/append/append-fleet';
import { streamFill } from '@runledger/event-log/provision/stream-sizes';
import { type DecisionLoop, executeDecisions } from './execute-decisions.ts';
import type { DecisionMetrics } from './store-decision.ts';
import type { FollowedLog } from './follow-log.ts';
import type { RecentRequests } from './follow-runs.ts';
import { respondToRequests } from './respond-to-requests.ts';
import type { Snapshots } from './snapshot/snapshots.ts';

export interface LeadOptions {
  readonly loop: DecisionLoop;
  readonly followed: FollowedLog;
  readonly requests: RecentRequests;
  /** Distinguishes this process from others of the same service. */
  readonly instance: string;
  readonly metrics: DecisionMetrics;
  readonly clock: BrokerClock;
  readonly snapshots: Snapshots;
  readonly heartbeatPeriodMs: number;
}

const MAX_TICK_MS = 1_000;
/** How long a stop waits for a broker that does not respond. */
const STOP_WITHIN_MS = 2_000;

/** Stands by until it holds the lease `scheduler`, leads, and stands by again, until the process stops. */
export const electLeader = async (
  log: EventLog,
  options: LeadOptions,
  stopping: AbortSignal,
): Promise<void> => {
  while (!stopping.aborted) {
    let lease: Lease;
    try {
      lease = await acquireLease(
        log,
        { name: 'scheduler', holder: options.instance, ttlMs: LEASE_TTL_MS },
        stopping,
      );
    } catch (error) {
      if (stopping.aborted) return;
      throw error;
    }
    try {
      await lead(log, options, lease, stopping);
      // This process stops, and still holds the lease.
      if (!lease.lost.aborted && log.connected()) await beforeStop(options.snapshots.saveLast());
    } finally {
      await lease.release();
    }
  }
};

/** Decides and responds to requests until the lease is lost, the process stops or another term begins. Resolves when no decision is being stored. */
const lead = async (
  log: EventLog,
  options: LeadOptions,
  lease: Lease,
  stopping: AbortSignal,
): Promise<void> => {
  const signal = AbortSignal.any([lease.lost, stopping]);
  if (signal.aborted) return;
  const { scheduling } = options.loop;
  using responders = respondToRequests(log, {
    queries: scheduling.queries,
    isCurrent: options.followed.isCurrent,
    fleetReadUpTo: options.followed.fleetReadUpTo,
  });
  // At once, not after the current tick.
  signal.addEventListener('abort', () => responders[Symbol.dispose](), { once: true });
  log.logger.info({}, 'this scheduler leads');
  const began = await untilAborted(takeOver(log, options, signal), signal);
  if (began) await decide(log, options, began, stopping);
  log.logger.info({}, 'this scheduler stands by');
};

/** Decides until the term is over. */
const decide = async (
  log: EventLog,
  options: LeadOptions,
  { term, over }: Term,
  stopping: AbortSignal,
): Promise<void> => {
  const { loop, followed, snapshots } = options;
  const { take } = loop;
  await applyLogSize(log, take);
  if (over.aborted) return;
  const executor = executeDecisions(
    {
      ...options,
      log,
      term,
      settle: (decision, outcome) => take({ type: 'settled', decision, outcome }),
      onHeartbeat: followed.onHeartbeat,
    },
    over,
  );
  over.addEventListener('abort', loop.standBy, { once: true });
  loop.lead(executor, term);
  await Promise.all([tickUntilAborted(log, options, over), snapshots.saveOften(over)]);
  await untilAborted(executor.idle(), stopping);
  await beforeStop(executor.idle());
};

/** Waits for the work, but at most as long as a stop may take. */
const beforeStop = (work: Promise<void>): Promise<void> => within(STOP_WITHIN_MS, work, () => undefined);

/** A term in which this scheduler may decide. */
interface Term {
  readonly term: number;
  /** Aborted when another one has begun. */
  readonly over: AbortSignal;
}

const MAX_CONCURRENT_APPENDS = 256;

/**
 * Begins a term, and tells it to all executors: what leaders before store from then on is void. Then it reads all that they stored before:
 * it counts for every limit and every slot. An executor that registers after the term began knows it. Undefined when the term is over.
 * @throws the signal's reason
 */
const takeOver = async (
  log: EventLog,
  options: LeadOptions,
  signal: AbortSignal,
): Promise<Term | undefined> => {
  const { followed, instance } = options;
  const retrying = { signal, logger: log.logger };
  const term = await retryWhileUnavailable(retrying, () => beginTerm(log, instance));
  const over = AbortSignal.any([signal, followed.superseded(term)]);
  await followed.readToEnd(over, { runs: 0, fleet: term });
  const runs = await untilAborted(tellExecutors(log, options, { term, over }), over);
  if (runs === undefined) return undefined;
  await followed.readToEnd(over, { runs, fleet: term });
  return over.aborted ? undefined : { term, over };
};

/** The last sequence at which one is told. */
const tellExecutors = async (
  log: EventLog,
  { loop, instance }: LeadOptions,
  { term, over }: Term,
): Promise<number> => {
  const executors = loop.scheduling.mayBegin().values();
  const retrying = { signal: over, logger: log.logger };
  let last = 0;
  const tell = async (): Promise<void> => {
    for (const executor of executors) {
      const told = await retryWhileUnavailable(retrying, () =>
        announceTerm(log, { term, instance, executor }),
      );
      last = Math.max(last, told);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_APPENDS }, tell));
  return last;
};

/** A broker that takes longer to respond may delay heartbeats as well. */
const SLOW_MS = 1_000;
const LOG_SIZE_EVERY_MS = 1_000;

/**
 * Ticks until the signal is aborted. Each tick follows a round trip to the broker: what the broker sent before has arrived,
 * and the response has its time. Without a response there is no tick, and missing heartbeats say nothing.
 */
const tickUntilAborted = async (
  log: EventLog,
  { clock, heartbeatPeriodMs, loop: { take } }: LeadOptions,
  signal: AbortSignal,
): Promise<void> => {
  const everyMs = Math.min(heartbeatPeriodMs / 6, MAX_TICK_MS);
  let sizeReadMs = performance.now();
  while (!signal.aborted) {
    const sentMs = performance.now();
    const brokerMs = log.connected() ? await brokerTime(log) : undefined;
    const connectedMs = performance.now();
    if (signal.aborted) return;
    if (brokerMs === undefined || connectedMs - sentMs > SLOW_MS) {
      take({ type: 'reset_heartbeats', because: 'slow_round_trip', connectedMs });
    }
    if (brokerMs !== undefined) {
      clock.sample(brokerMs, connectedMs, sentMs);
      if (connectedMs - sizeReadMs >= LOG_SIZE_EVERY_MS) {
        sizeReadMs = connectedMs;
        await applyLogSize(log, take);
        if (signal.aborted) return;
      }
      const now = clock.at(connectedMs);
      if (now !== undefined) take({ type: 'tick', now, connectedMs });
    }
    await sleep(everyMs, signal);
  }
};

/** Without a response, the last size stays. */
const applyLogSize = async (log: EventLog, take: DecisionLoop['take']): Promise<void> => {
  const fill = await streamFill(log, 'RUNS');
  if (fill) take({ type: 'log_size', bytes: fill.bytes, maxBytes: fill.maxBytes ?? -1 });
};

/** Of the leader of RUNS, whose stamps the deadlines count from. Undefined when it does not respond. */
const brokerTime = async (log: EventLog): Promise<number | undefined> => {
  try {
    return await readBrokerTime(log, 'RUNS');
  } catch (error) {
    log.logger.debug({ err: error }, 'the broker did not report its time');
    return undefined;
  }
};
