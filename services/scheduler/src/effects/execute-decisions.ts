import { setTimeout as pause } from 'node:timers/promises';
import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { append, EventTooLarge } from '@runledger/event-log/append/append';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { appendFleet } from '@runledger/event-log/streams/fleet';
import { lastHeartbeat } from '@runledger/coordination/heartbeats';
import type { Decision, DeclareLost, RunDecision } from '../core/decisions/decision.ts';
import type { Outcome } from '../core/scheduler-input.ts';
import { makeEvent, makeGiveUp, type EventSources } from './make-event.ts';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { inSpan } from '@runledger/service-kit/tracing/spans';
import type { SchedulerMetrics } from '../scheduler-metrics.ts';

export interface DecisionExecutorOptions extends EventSources {
  readonly metrics: SchedulerMetrics;
  readonly settle: (decision: Decision, outcome: Outcome) => void;
  /** The executor was heard, but the watch has not told it yet. */
  readonly onHeartbeat: (heartbeat: Heartbeat, time: string) => void;
}

const MOST_AT_ONCE = 64;
/** What failed for no reason that we know is tried again, and not at once. */
const AGAIN_AFTER_MS = 5_000;

export interface DecisionExecutor {
  begin(decisions: readonly Decision[]): void;
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>;
}

/** Carries decisions out, some at a time, until the signal says that another scheduler may lead. */
export const executeDecisions = (work: DecisionExecutorOptions, signal: AbortSignal): DecisionExecutor => {
  const waiting = new Set<Decision>();
  const busy = new Set<Promise<void>>();
  const next = (): void => {
    for (const decision of waiting) {
      if (busy.size >= MOST_AT_ONCE || signal.aborted) return;
      waiting.delete(decision);
      const settling = settleOne(work, decision, signal).finally(() => {
        busy.delete(settling);
        next();
      });
      busy.add(settling);
    }
  };
  return {
    begin: (decisions) => {
      for (const decision of decisions) waiting.add(decision);
      next();
    },
    idle: async () => {
      while (busy.size > 0) await Promise.all(busy);
    },
  };
};

const settleOne = async (
  work: DecisionExecutorOptions,
  decision: Decision,
  signal: AbortSignal,
): Promise<void> => {
  try {
    const outcome =
      decision.type === 'declare_lost'
        ? await appendLoss(work, decision)
        : await traced(decision, () => store(work, decision, signal));
    if (!signal.aborted) work.settle(decision, outcome);
  } catch (error) {
    if (signal.aborted) return;
    work.log.logger.error(
      { err: error, decision: decision.type },
      'a decision could not be carried out; it is made again',
    );
    void pause(AGAIN_AFTER_MS, undefined, { signal }).then(
      () => work.settle(decision, 'failed'),
      () => undefined,
    );
  }
};

/** Below the request that queued the run. What the run waited for before it was decided on is the gap in front. */
const traced = (decision: RunDecision, work: () => Promise<Outcome>): Promise<Outcome> => {
  const { key, run, type } = decision;
  const attributes = {
    'runledger.org_id': key.org_id,
    'runledger.run_id': key.run_id,
    'runledger.deployment_id': run.request.deployment_id,
    ...(decision.type === 'assign'
      ? { 'runledger.executor_id': decision.executor, 'runledger.attempt': decision.attempt }
      : {}),
  };
  return inSpan(`decide ${type}`, { kind: 'internal', parent: run.traceparent, attributes }, async (span) => {
    const outcome = await work();
    span.setAttribute('runledger.outcome', outcome);
    return outcome;
  });
};

/**
 * Appends the event of a decision on the head that it rests on. When the log does not answer, the very same event is appended again:
 * by its id the log knows whether it has it.
 */
const store = async (
  work: DecisionExecutorOptions,
  decision: RunDecision,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { log, metrics } = work;
  const untilStored = async (event: RunEvent): Promise<Outcome> => {
    const appended = await retryWhileUnavailable({ signal, logger: log.logger }, () =>
      append(log, event, decision.expected),
    );
    if (appended.kind === 'conflict') {
      metrics.conflict();
      if (appended.head < decision.expected) {
        const { expected } = decision;
        log.logger.error(
          { run_id: event.run_id, type: event.type, expected, head: appended.head },
          'the events of a run that has not ended are in the log no more: its max_age is too short',
        );
        return 'expired';
      }
      log.logger.debug(
        { run_id: event.run_id, type: event.type, head: appended.head },
        'something else came first',
      );
      return 'refused';
    }
    count(metrics, event);
    return 'stored';
  };
  try {
    return await untilStored(
      await retryWhileUnavailable({ signal, logger: log.logger }, () => makeEvent(work, decision)),
    );
  } catch (error) {
    if (!(error instanceof EventTooLarge) || decision.type !== 'assign') throw error;
    // A run that cannot be assigned would wait for ever, and take the slot each time.
    const why = error instanceof Error ? error.message : String(error);
    log.logger.error({ err: error, run_id: decision.key.run_id }, 'a run cannot be assigned and is given up');
    const message = `The run could not be assigned because of an error in the scheduler: ${why}`;
    return untilStored(makeGiveUp(work, decision, message));
  }
};

/** The leader's last word counts: a watch may be behind after the broker was away. */
const appendLoss = async (
  work: DecisionExecutorOptions,
  decision: DeclareLost,
): Promise<'stored' | 'refused'> => {
  const { log, metrics, onHeartbeat: heard } = work;
  const { executor, message } = decision;
  try {
    const last = await lastHeartbeat(log, executor);
    if (last && last.time !== decision.lastHeartbeat) {
      heard(last.heartbeat, last.time);
      return 'refused';
    }
    await appendFleet(log, {
      type: 'ExecutorLost',
      version: 1,
      event_id: newUuid(),
      executor_id: executor,
      time: new Date().toISOString(),
      message,
    });
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    log.logger.warn({ err: error, executor }, 'the log is away; the executor is given another period');
    return 'refused';
  }
  log.logger.warn({ executor, message }, 'an executor is lost');
  metrics.executorLost();
  return 'stored';
};

const count = (metrics: SchedulerMetrics, event: RunEvent): void => {
  if (event.type === 'RunAssigned') metrics.assigned();
  else if (event.type === 'RunCancelEnforced') metrics.ended('cancel_enforced');
  else if (event.type === 'RunRequeued') metrics.ended(`requeued_${event.data.reason}`);
  else if (event.type === 'RunTimedOut' || event.type === 'RunGivenUp') metrics.ended(event.data.reason);
};
