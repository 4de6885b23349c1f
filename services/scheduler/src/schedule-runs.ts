import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { respondToRedrives } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { watchHeartbeats } from '@runledger/coordination/heartbeats';
import { createdAt } from '@runledger/event-log/read/read-run';
import { aborted, sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import type { CheckOutcome } from '@runledger/service-kit/health/health-server';
import type { Metrics } from '@runledger/service-kit/observability/metrics';
import { respondToRequests } from './requests/respond-to-requests.ts';
import { EstimatedClock } from './time/estimated-clock.ts';
import { executeDecisions, type DecisionExecutor } from './effects/execute-decisions.ts';
import type { Decision } from './core/decisions/decision.ts';
import type { Outcome } from './core/scheduler-input.ts';
import { createScheduling } from './core/scheduling.ts';
import type { SchedulerInput } from './core/scheduler-input.ts';
import { eventIdOf } from './log/event-id.ts';
import type { FleetFact } from './log/fleet-message.ts';
import { followFleet } from './log/follow-fleet.ts';
import { followRuns } from './log/follow-runs.ts';
import { electLeader } from './leader-election.ts';
import { liveRunsOf, restoreState } from './snapshot/restore-state.ts';
import { tickUntilAborted } from './time/tick.ts';
import { redrive } from './requests/redrive.ts';
import { schedulerMetrics } from './scheduler-metrics.ts';
import { openSnapshotSaver } from './snapshot/save-snapshots.ts';
import type { SnapshotRun } from './snapshot/snapshot-format.ts';
import { workflowVersions } from './effects/workflow-versions.ts';

export interface SchedulerSettings {
  /** Tells this process from others of the same service. */
  readonly instance: string;
  readonly heartbeatPeriodMs: number;
  readonly cancelEnforceMs: number;
  readonly snapshotEveryMs: number;
  readonly snapshotEveryEvents: number;
  readonly workflowCacheBytes: number;
  /** How long a leader that is not heard keeps the lead; 3000 when left out. */
  readonly leaseTtlMs?: number;
}

export interface RunningScheduler extends AsyncDisposable {
  readonly leading: () => boolean;
  /** Whether the state follows the log; leading or standing by are both right. */
  readonly following: () => CheckOutcome;
  /** Every run that has not ended, as the scheduler knows it. */
  readonly runs: () => SnapshotRun[];
}

const LONGEST_TICK_MS = 1_000;
/** A stop does not wait longer for a broker that does not answer. */
const LAST_WORDS_MS = 2_000;

/**
 * Reads the log, stands by until it holds the lease `scheduler`, and then decides. It runs until it is disposed of.
 * @throws {LogUnavailable} @throws the signal's reason
 */
export const scheduleRuns = async (
  log: EventLog,
  settings: SchedulerSettings,
  metrics: Metrics,
  stopping: AbortSignal = new AbortController().signal,
): Promise<RunningScheduler> => {
  await using opened = new AsyncDisposableStack();
  const { heartbeatPeriodMs, cancelEnforceMs, instance } = settings;
  const scheduling = createScheduling({ heartbeatPeriodMs, cancelEnforceMs, instantOf: Date.parse });
  const clock = new EstimatedClock();
  const caughtUp = { runs: Promise.withResolvers<void>(), fleet: Promise.withResolvers<void>() };
  const bothCaughtUp = Promise.all([caughtUp.runs.promise, caughtUp.fleet.promise]);
  /** Where decisions go while this scheduler leads. */
  let atWork: DecisionExecutor | undefined;
  let replaying = true;
  void bothCaughtUp.then(() => {
    replaying = false;
  });

  const take = (input: SchedulerInput): void => {
    const decisions = scheduling.take(input);
    if (decisions.length > 0) atWork?.begin(decisions);
  };
  const counted = schedulerMetrics(metrics, {
    queues: () => scheduling.queues(),
    fleet: () => scheduling.queries.fleetCounts(),
    drainedNames: () => [...scheduling.drainedNames()].length,
    longestSilence: () => scheduling.queries.longestSilence() / 1_000,
    leading: () => atWork !== undefined,
    now: () => clock.at(performance.now()),
  });

  const created = await createdAt(log, 'RUNS');
  const fleetCreated = await createdAt(log, 'FLEET');
  const restored = await restoreState(log, scheduling, fleetCreated);
  stopping.throwIfAborted();
  const snapshots = openSnapshotSaver(log, {
    ...settings,
    created,
    restored,
    state: () => ({
      runs: liveRunsOf(scheduling),
      drains: { created: fleetCreated, names: [...scheduling.drainedNames()] },
    }),
  });

  let fleetReadUpTo = 0;
  const takeFleetFact = (fact: FleetFact): void => {
    take({ type: 'fleet_fact', ...fact, connectedMs: performance.now() });
    fleetReadUpTo = Math.max(fleetReadUpTo, fact.sequence);
    // A drain or a resume of a name.
    if ('executor_name' in fact.event) snapshots.changed();
  };
  const fleet = opened.use(
    await followFleet(log, {
      take: takeFleetFact,
      onCaughtUp: caughtUp.fleet.resolve,
      parks: () => !replaying,
    }),
  );
  const runs = opened.use(
    await followRuns(log, {
      scheduling,
      after: restored?.sequence ?? 0,
      take,
      onFact: (type, run) => {
        if (atWork) counted.happened(type, run);
      },
      onTaken: (message) => {
        clock.sample(Date.parse(message.time), performance.now());
        snapshots.taken(message.sequence, eventIdOf(message));
      },
      onCaughtUp: caughtUp.runs.resolve,
      parks: () => restored !== undefined || !replaying,
    }),
  );
  const heard = (heartbeat: Heartbeat, time: string): void => {
    const connectedMs = performance.now();
    clock.sample(Date.parse(time), connectedMs);
    counted.heartbeat();
    take({ type: 'heartbeat', heartbeat, time, connectedMs });
  };
  opened.use(await watchHeartbeats(log, heard));
  opened.defer(
    log.onReconnect(() =>
      take({ type: 'reset_heartbeats', because: 'reconnect', connectedMs: performance.now() }),
    ),
  );

  const isCurrent = (): boolean => !replaying && runs.state().ok && fleet.state().ok;
  opened.use(
    // Each takes it, since each may lead one day; the one that leads says what came of it.
    respondToRedrives(log, 'scheduler', async (question) => {
      if (!isCurrent()) return undefined;
      const answer = await redrive(log, { scheduling, take, takeFleetFact }, question);
      snapshots.changed();
      return atWork && answer;
    }),
  );

  const versions = workflowVersions(log, settings.workflowCacheBytes);
  const lead = async (over: AbortSignal): Promise<void> => {
    if (over.aborted) return;
    const answering = respondToRequests(log, {
      queries: scheduling.queries,
      isCurrent,
      fleetReadUpTo: () => fleetReadUpTo,
    });
    const standBy = (): void => {
      answering[Symbol.dispose]();
      atWork = undefined;
      scheduling.take({ type: 'stand_by' });
    };
    const settle = (decision: Decision, outcome: Outcome): void =>
      take({ type: 'settled', decision, outcome });
    log.logger.info({}, 'this scheduler leads');
    const work = executeDecisions(
      { log, versions, instance, metrics: counted, settle, onHeartbeat: heard },
      over,
    );
    atWork = work;
    // At once, not when the tick under way is over.
    over.addEventListener('abort', standBy, { once: true });
    take({ type: 'lead', connectedMs: performance.now() });
    const everyMs = Math.min(heartbeatPeriodMs / 6, LONGEST_TICK_MS);
    await Promise.all([tickUntilAborted(log, { clock, everyMs, take }, over), snapshots.saveOften(over)]);
    // What is still on its way to the log must be settled before anybody decides on the same slots.
    await Promise.race([work.idle(), aborted(stop.signal).then(lastWords)]);
    log.logger.info({}, 'this scheduler stands by');
  };

  const beforeRelease = async (): Promise<void> => {
    if (log.connected()) await within(LAST_WORDS_MS, snapshots.saveLast(), () => undefined);
  };

  const stop = new AbortController();
  let failure: string | undefined;
  const leading = Promise.race([bothCaughtUp, aborted(stop.signal)])
    .then(() => electLeader(log, { ...settings, holder: instance, lead, beforeRelease }, stop.signal))
    .catch((error: unknown) => {
      log.logger.error({ err: error }, 'this scheduler leads no more; start it again');
      failure = `it leads no more: ${error instanceof Error ? error.message : String(error)}`;
    });
  // What cannot be read may be what forbids the next decision.
  void Promise.race([runs.failed, fleet.failed]).then(() => stop.abort());
  opened.defer(async () => {
    stop.abort();
    await leading;
  });
  const open = opened.move();
  return {
    leading: () => atWork !== undefined,
    following: () => {
      if (failure !== undefined) return { ok: false, why: failure };
      const state = runs.state();
      return state.ok ? fleet.state() : state;
    },
    runs: () => liveRunsOf(scheduling),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
};

const lastWords = (): Promise<void> => sleep(LAST_WORDS_MS);
