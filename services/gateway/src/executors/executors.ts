import type { ExecutorsAnswer, ExecutorsQuestion } from '@runledger/contracts/requests/executor-state';
import { MAX_ASKED_EXECUTORS } from '@runledger/contracts/requests/executor-state';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { askExecutors } from '@runledger/request-reply/executors';
import { ANSWER_WITHIN_MS, answered } from '../scheduler/scheduler-answer.ts';

/** Behind which executor a page begins. */
export type ExecutorPlace = NonNullable<ExecutorsQuestion['after']>;

/** The executors as the scheduler that leads knows them. All of it throws SchedulerUnavailable while none answers. */
export interface Executors {
  page(after: ExecutorPlace | null, limit: number): Promise<ExecutorsAnswer>;
  /** None for a name that nobody bears and that is not drained. */
  named(name: string): Promise<ExecutorsAnswer>;
}

export const executors = (log: EventLog): Executors => {
  const ask = async (question: ExecutorsQuestion): Promise<ExecutorsAnswer> =>
    answered(await askExecutors(log, question, ANSWER_WITHIN_MS));
  return {
    page: (after, limit) => ask({ name: null, after, limit }),
    named: (name) => ask({ name, after: null, limit: MAX_ASKED_EXECUTORS }),
  };
};
