import { eventIdOf } from '@runledger/contracts/fold/chain';
import { BrokerClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { createExecutorConsumers } from '@runledger/request-reply/executor-consumers';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { untilAborted } from '@runledger/resilience/abort';
import type { CheckOutcome } from '@runledger/service-kit/health-server';
import type { Metrics } from '@runledger/service-kit/metrics';
import { messageOf } from '@runledger/resilience/errors';
import type { ShareOf } from './core/runs/fair-queue.ts';
import { createScheduling } from './core/scheduling.ts';
import { createDecisionLoop } from './execute-decisions.ts';
import { electLeader, type LeadOptions } from './lead.ts';
import { followLog, type WhenAvailable } from './follow-log.ts';
import { recentRequests } from './follow-runs.ts';
import { respondToSchedulerRedrives } from './respond-to-requests.ts';
import { schedulerMetrics } from './scheduler-metrics.ts';
import { liveRunsOf, openSnapshots } from './snapshot/snapshots.ts';
import type { SnapshotRun } from './snapshot/snapshot-format.ts';

export interface SchedulerSettings {
  /** Distinguishes this process from others of the same service. */
  readonly instance: string;
  readonly heartbeatPeriodMs: number;
  readonly cancelEnforceMs: number;
  readonly shareOf: ShareOf;
  readonly snapshotEveryMs: number;
  readonly snapshotEveryEvents: number;
}

export interface RunningScheduler extends AsyncDisposable {
  readonly leading: () => boolean;
  /** Of the leading one. */
  readonly term: () => number | undefined;
  /** Whether the state follows the log, leading or standing by. */
  readonly following: () => CheckOutcome;
  /** Every run that has not ended, as the scheduler knows it. */
  readonly runs: () => SnapshotRun[];
}

/**
 * Reads the log, stands by until it holds the lease `scheduler`, and then decides, until it is disposed of. Waits for a log that is
 * unavailable. @throws the signal's reason
 */
export const openScheduler = async (
  log: EventLog,
  settings: SchedulerSettings,
  metrics: Metrics,
  stopping: AbortSignal,
): Promise<RunningScheduler> => {
  await using opened = new AsyncDisposableStack();
  const { instance, heartbeatPeriodMs, cancelEnforceMs, shareOf } = settings;
  const whenAvailable: WhenAvailable = (open) =>
    retryWhileUnavailable({ signal: stopping, logger: log.logger }, open);
  // A state that was restored in part is dropped.
  const { scheduling, snapshots } = await whenAvailable(async () => {
    const empty = createScheduling({
      heartbeatPeriodMs,
      cancelEnforceMs,
      shareOf,
    });
    return { scheduling: empty, snapshots: await openSnapshots(log, empty, settings) };
  });
  const loop = createDecisionLoop(scheduling);
  const clock = new BrokerClock();
  const requests = recentRequests();
  const counted = schedulerMetrics(metrics, {
    scheduling,
    leading: loop.leading,
    now: () => clock.at(performance.now()),
  });
  stopping.throwIfAborted();
  // Executors can start while this scheduler still reads the log.
  opened.use(createExecutorConsumers(log));
  const followed = opened.use(
    await followLog(log, {
      whenAvailable,
      scheduling,
      take: loop.take,
      requests,
      clock,
      restoredUpTo: snapshots.restoredUpTo,
      onFact: (type, run) => {
        if (loop.leading()) counted.onFact(type, run);
      },
      onInput: (message) => snapshots.taken(message.sequence, eventIdOf(message)),
      onDrain: snapshots.changed,
      onHeartbeat: counted.heartbeat,
    }),
  );
  opened.use(respondToSchedulerRedrives(log, { loop, followed, onRedriven: snapshots.changed }));
  const leadership = opened.use(
    openLeadership(log, {
      loop,
      clock,
      requests,
      followed,
      snapshots,
      metrics: counted,
      instance,
      heartbeatPeriodMs,
    }),
  );
  const open = opened.move();
  return {
    leading: loop.leading,
    term: loop.term,
    following: () => leadership.failure() ?? followed.state(),
    runs: () => liveRunsOf(scheduling),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

interface Leadership extends AsyncDisposable {
  readonly failure: () => Extract<CheckOutcome, { readonly ok: false }> | undefined;
}

/** Takes part in the leader election as soon as the log is read up to its end. */
const openLeadership = (log: EventLog, options: LeadOptions): Leadership => {
  const { followed } = options;
  const stop = new AbortController();
  let failure: string | undefined;
  const leading = untilAborted(followed.caughtUp, stop.signal)
    .then(() => electLeader(log, options, stop.signal))
    .catch((error: unknown) => {
      log.logger.error({ err: error }, 'this scheduler can no longer lead; restart it');
      failure = `it can no longer lead: ${messageOf(error)}`;
    });
  // A fact that cannot be read may forbid the next decision.
  void followed.failed.then(() => stop.abort());
  return {
    failure: () => (failure === undefined ? undefined : { ok: false, why: failure }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await leading;
    },
  };
};
