import type { ExecutorsResponse, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import { MAX_LISTED_EXECUTORS } from '@runledger/contracts/requests/executor-state';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestExecutors } from '@runledger/request-reply/executors';
import { RESPONSE_TIMEOUT_MS, orSchedulerUnavailable } from '../scheduler/scheduler-answer.ts';

/** Behind which executor a page begins. */
export type ExecutorSortKey = NonNullable<ExecutorsRequest['after']>;

/** The executors as the scheduler that leads knows them. All of it throws SchedulerUnavailable while none answers. */
export interface Executors {
  page(after: ExecutorSortKey | null, limit: number): Promise<ExecutorsResponse>;
  /** None for a name that nobody bears and that is not drained. */
  named(name: string): Promise<ExecutorsResponse>;
}

export const executors = (log: EventLog): Executors => {
  const ask = async (question: ExecutorsRequest): Promise<ExecutorsResponse> =>
    orSchedulerUnavailable(await requestExecutors(log, question, RESPONSE_TIMEOUT_MS));
  return {
    page: (after, limit) => ask({ name: null, after, limit }),
    named: (name) => ask({ name, after: null, limit: MAX_LISTED_EXECUTORS }),
  };
};
