import type { Scheduling } from '../core/scheduling.ts';
import type { SchedulerInput } from '../core/state/scheduler-input.ts';
import type { DecisionExecutor } from './execute-decisions.ts';

/** Takes inputs into the core, and executes the decisions while this scheduler leads. */
export interface DecisionLoop {
  readonly scheduling: Scheduling;
  readonly take: (input: SchedulerInput) => void;
  /** From now on this executor gets the decisions. */
  readonly lead: (executor: DecisionExecutor) => void;
  readonly standBy: () => void;
  readonly leading: () => boolean;
}

export const createDecisionLoop = (scheduling: Scheduling): DecisionLoop => {
  let executor: DecisionExecutor | undefined;
  const take = (input: SchedulerInput): void => {
    const decisions = scheduling.take(input);
    if (decisions.length > 0) executor?.begin(decisions);
  };
  return {
    scheduling,
    take,
    lead: (next) => {
      executor = next;
      take({ type: 'lead', connectedMs: performance.now() });
    },
    standBy: () => {
      executor = undefined;
      scheduling.take({ type: 'stand_by' });
    },
    leading: () => executor !== undefined,
  };
};
