import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import { orgId, runId } from '@runledger/contracts/ids';
import type { Scheduling } from '@runledger/scheduler/core/scheduling';
import type { Circumstances, OpenDecision } from './comparison.ts';

/** What the scheduler knows that explains a recorded decision; `event` is undefined for the loss of an executor. */
export const circumstancesOf = (
  scheduling: Scheduling,
  event: RunEvent | undefined,
  others: () => Iterable<OpenDecision>,
): Circumstances => ({
  whyNotCompared: (open) =>
    event && (whyNotCompared(scheduling, event) ?? whyInterchangeable(scheduling, event, { open, others })),
  whyNotDecided: () => (event ? whyNotDecided(scheduling, event) : 'its executor sends heartbeats'),
});

interface Beside {
  readonly open: OpenDecision | undefined;
  readonly others: () => Iterable<OpenDecision>;
}

/** Of free slots of one kind a run takes the one that was free first, and this may depend on when a heartbeat came. */
const whyInterchangeable = (
  scheduling: Scheduling,
  event: RunEvent,
  { open, others }: Beside,
): string | undefined => {
  if (event.type !== 'RunAssigned' || open?.decision.type !== 'assign') return undefined;
  const { decision } = open;
  const { slot, gpu, reason } = event.data;
  const isSameKind =
    decision.attempt === event.attempt &&
    decision.gpu === gpu &&
    decision.placement.choice === reason?.choice;
  if (!isSameKind || !isFree(scheduling, { executor: event.executor_id ?? '', slot, gpu }, others))
    return undefined;
  return 'it takes another free slot of the same kind, and which one was free first depends on heartbeats';
};

/** Nothing holds the slot but decisions that are not compared yet. */
const isFree = (
  scheduling: Scheduling,
  { executor, slot, gpu }: { readonly executor: string; readonly slot: number; readonly gpu: GpuModel },
  others: Beside['others'],
): boolean => {
  const known = [...scheduling.executors()].find(({ id }) => id === executor);
  const one = known?.slots.get(slot);
  if (!known || !one) return false;
  if (known.free.get(gpu)?.has(one)) return true;
  return [...others()].some(
    ({ decision }) => decision.type === 'assign' && decision.executor === executor && decision.slot === slot,
  );
};

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
