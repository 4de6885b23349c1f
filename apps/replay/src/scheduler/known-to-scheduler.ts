import type { RunEvent } from '@runledger/contracts/events/run-event';
import { orgId, runId } from '@runledger/contracts/ids';
import type { Scheduling } from '@runledger/scheduler/core/scheduling';
import type { Circumstances } from '../decisions/comparison.ts';

/** What the scheduler knows that explains a recorded decision; `event` is undefined for the loss of an executor. */
export const circumstancesOf = (scheduling: Scheduling, event: RunEvent | undefined): Circumstances => ({
  whyNotCompared: event && whyNotCompared(scheduling, event),
  whyNotDecided: () => (event ? whyNotDecided(scheduling, event) : 'its executor sends heartbeats'),
});

const whyNotCompared = (scheduling: Scheduling, event: RunEvent): string | undefined => {
  if (event.type === 'RunAssigned') {
    const isKnown = [...scheduling.executors()].some(({ id }) => id === event.executor_id);
    return isKnown ? undefined : 'the slice does not have the registration of its executor';
  }
  if (event.type === 'RunTimedOut' && event.data.reason === 'storage_full')
    return 'the slice does not say how full the log was';
  if (event.type === 'RunGivenUp' && event.data.reason === 'internal_error')
    return 'its assignment could not be stored';
  return undefined;
};

const whyNotDecided = (scheduling: Scheduling, { org_id, run_id }: RunEvent): string => {
  const waits = scheduling.queries.waitReason({ org_id: orgId(org_id), run_id: runId(run_id) });
  return waits
    ? `the run waits: ${waits.capacity}, ${waits.ahead} ahead of it`
    : 'no deadline is over and its executor is there';
};

/** What the scheduler knows of a run that has not ended. */
export const viewOf = (scheduling: Scheduling, run_id: string): object | undefined => {
  for (const { key, run, head, slot } of scheduling.runs()) {
    if (key.run_id !== run_id) continue;
    const waits = scheduling.queries.waitReason(key);
    return {
      head,
      status: run.status,
      is_deciding: scheduling.isDeciding(key),
      ...(slot && { slot }),
      ...(waits && { waits }),
    };
  }
  return undefined;
};
