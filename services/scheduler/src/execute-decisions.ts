import { setTimeout as pause } from 'node:timers/promises';
import { inSpan } from '@runledger/service-kit/spans';
import type { Scheduling } from './core/scheduling.ts';
import type { SchedulerInput, Outcome } from './core/scheduler-input.ts';
import type { Decision, RunDecision } from './core/decision.ts';
import { storeLoss, storeDecision, type StoreOptions } from './store-decision.ts';

/** Takes inputs into the core, and executes the decisions while this scheduler leads. */
export interface DecisionLoop {
  readonly scheduling: Scheduling;
  readonly take: (input: SchedulerInput) => void;
  /** From now on this executor gets the decisions of the term. */
  readonly lead: (executor: DecisionExecutor, term: number) => void;
  readonly standBy: () => void;
  readonly leading: () => boolean;
  /** Undefined unless it leads. */
  readonly term: () => number | undefined;
}

export const createDecisionLoop = (scheduling: Scheduling): DecisionLoop => {
  let executor: DecisionExecutor | undefined;
  let term: number | undefined;
  const take = (input: SchedulerInput): void => {
    const decisions = scheduling.take(input);
    if (decisions.length > 0) executor?.begin(decisions);
  };
  return {
    scheduling,
    take,
    lead: (next, begun) => {
      executor = next;
      term = begun;
      take({ type: 'lead', connectedMs: performance.now() });
    },
    standBy: () => {
      executor = undefined;
      term = undefined;
      scheduling.take({ type: 'stand_by' });
    },
    leading: () => executor !== undefined,
    term: () => term,
  };
};

interface DecisionExecutorOptions extends StoreOptions {
  readonly settle: (decision: Decision, outcome: Outcome) => void;
}

const MAX_CONCURRENT_DECISIONS = 64;
/** After an unexpected failure. */
const DECIDE_AGAIN_AFTER_MS = 5_000;

interface DecisionExecutor {
  begin(decisions: readonly Decision[]): void;
  /** Resolves when no decision is being executed. */
  idle(): Promise<void>;
}

/** Executes decisions, a bounded number at a time, until the signal says that another scheduler may lead. */
export const executeDecisions = (options: DecisionExecutorOptions, signal: AbortSignal): DecisionExecutor => {
  const waiting = new Set<Decision>();
  const busy = new Set<Promise<void>>();
  const next = (): void => {
    for (const decision of waiting) {
      if (busy.size >= MAX_CONCURRENT_DECISIONS || signal.aborted) return;
      waiting.delete(decision);
      const settling = execute(options, decision, signal).finally(() => {
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

const execute = async (
  options: DecisionExecutorOptions,
  decision: Decision,
  signal: AbortSignal,
): Promise<void> => {
  const { log, settle } = options;
  try {
    const outcome =
      decision.type === 'declare_lost'
        ? await storeLoss(options, decision)
        : await traced(decision, () => storeDecision(options, decision, signal));
    if (!signal.aborted) settle(decision, outcome);
  } catch (error) {
    if (signal.aborted) return;
    log.logger.error(
      { err: error, decision: decision.type },
      'a decision could not be executed; it is made again',
    );
    void pause(DECIDE_AGAIN_AFTER_MS, undefined, { signal }).then(
      () => settle(decision, 'failed'),
      () => undefined,
    );
  }
};

/** A child of the request that queued the run. The time that the run waited is the gap before it. */
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
