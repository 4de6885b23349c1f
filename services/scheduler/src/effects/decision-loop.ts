import type { Scheduling } from '../core/scheduling.ts';
import type { SchedulerInput } from '../core/state/scheduler-input.ts';
import type { DecisionExecutor } from './execute-decisions.ts';

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
