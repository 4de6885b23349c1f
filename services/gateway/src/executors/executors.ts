import type { ExecutorsResponse, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import { MAX_LISTED_EXECUTORS } from '@runledger/contracts/requests/executor-state';
import type { SchedulerClient } from '../scheduler/scheduler-client.ts';

/** Behind which executor a page begins. */
export type ExecutorSortKey = NonNullable<ExecutorsRequest['after']>;

/** The executors as the scheduler that leads knows them. All of it throws SchedulerUnavailable while none answers. */
export interface Executors {
  page(after: ExecutorSortKey | null, limit: number): Promise<ExecutorsResponse>;
  /** None for a name that nobody bears and that is not drained. */
  named(name: string): Promise<ExecutorsResponse>;
}

export const executors = (scheduler: Pick<SchedulerClient, 'executors'>): Executors => ({
  page: (after, limit) => scheduler.executors({ name: null, after, limit }),
  named: (name) => scheduler.executors({ name, after: null, limit: MAX_LISTED_EXECUTORS }),
});
