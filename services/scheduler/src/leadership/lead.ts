import type { BrokerClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { untilAborted } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import type { DecisionLoop } from '../effects/decision-loop.ts';
import type { DecisionMetrics } from '../effects/decision-metrics.ts';
import { executeDecisions } from '../effects/execute-decisions.ts';
import type { FollowedLog } from '../log/follow-log.ts';
import type { RecentRequests } from '../log/recent-requests.ts';
import { takeLogSize, tickUntilAborted } from './tick.ts';
import { takeOver, type Term } from './take-over.ts';
import { respondToRequests } from '../requests/respond-to-requests.ts';
import type { SnapshotSaver } from '../snapshot/snapshot-saver.ts';

export interface LeadOptions {
  readonly loop: DecisionLoop;
  readonly followed: FollowedLog;
  readonly requests: RecentRequests;
  readonly instance: string;
  readonly metrics: DecisionMetrics;
  readonly clock: BrokerClock;
  readonly snapshots: Pick<SnapshotSaver, 'saveOften'>;
  readonly heartbeatPeriodMs: number;
  /** The process stops. */
  readonly stopping: AbortSignal;
}

const MAX_TICK_MS = 1_000;
/** How long a stop waits for a broker that does not respond. */
const STOP_WITHIN_MS = 2_000;

/** Decides and responds to requests until the signal is aborted, or another term begins. Resolves when no decision is being stored. */
export const lead = async (log: EventLog, options: LeadOptions, signal: AbortSignal): Promise<void> => {
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
  const began = await untilAborted(takeOver(log, { ...options, scheduling }, signal), signal);
  if (began) await decide(log, options, began);
  log.logger.info({}, 'this scheduler stands by');
};

/** Decides until the term is over. */
const decide = async (log: EventLog, options: LeadOptions, { term, over }: Term): Promise<void> => {
  const { loop, followed, clock, snapshots, heartbeatPeriodMs, stopping } = options;
  const { take } = loop;
  await takeLogSize(log, take);
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
  const everyMs = Math.min(heartbeatPeriodMs / 6, MAX_TICK_MS);
  await Promise.all([tickUntilAborted(log, { clock, everyMs, take }, over), snapshots.saveOften(over)]);
  await untilAborted(executor.idle(), stopping);
  await beforeStop(executor.idle());
};

/** Waits for the work, but at most as long as a stop may take. */
export const beforeStop = (work: Promise<void>): Promise<void> =>
  within(STOP_WITHIN_MS, work, () => undefined);
