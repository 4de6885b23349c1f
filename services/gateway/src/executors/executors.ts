import type { ExecutorsResponse, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import { MAX_LISTED_EXECUTORS } from '@runledger/contracts/requests/executor-state';
import type { SchedulerClient } from '../scheduler/scheduler-client.ts';

/** The executor behind which a page begins. */
export type ExecutorSortKey = NonNullable<ExecutorsRequest['after']>;

/** The executors as the leading scheduler knows them. Every method throws SchedulerUnavailable while none responds. */
export interface Executors {
  page(after: ExecutorSortKey | null, limit: number): Promise<ExecutorsResponse>;
  /** Empty for a name that has no executor and is not drained. */
  named(name: string): Promise<ExecutorsResponse>;
}

export const executors = (scheduler: Pick<SchedulerClient, 'executors'>): Executors => ({
  page: (after, limit) => scheduler.executors({ name: null, after, limit }),
  named: (name) => scheduler.executors({ name, after: null, limit: MAX_LISTED_EXECUTORS }),
});
