import type { RunEvent } from '@runledger/contracts/events/run-event';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import { assignedEvent, endingEvent, type Decision } from '@runledger/scheduler/core/decision';
import type { Decided } from './verdict.ts';

/** Members of facts that the core of the scheduler does not decide: ids, times, content, what its process adds, and what follows from others. */
const NOT_DECIDED: ReadonlySet<string> = new Set([
  'slot_allocation_id',
  'deployment_id',
  'start_deadline',
  'term',
  'inputs',
  'inputs_blob',
  'file_inputs',
  'secret_inputs',
  'message',
  'progress',
  'executor_public_key',
]);
/** Of a placement: how long it took, and how many slots were free, depend on when heartbeats and ticks came. */
const NOT_DECIDED_OF_PLACEMENT: ReadonlySet<string> = new Set([
  'waited_s',
  'warm_wait_s',
  'candidates',
  'choice',
]);

/** A fact of the scheduler about a run, as a decision. */
export const decidedByEvent = (event: RunEvent): Decided => {
  const { attempt, executor_id, type, data } = event;
  const members = { attempt, executor_id, ...without(data, NOT_DECIDED) };
  const placement = event.type === 'RunAssigned' ? event.data.reason : undefined;
  return {
    type,
    members: placement ? { ...members, reason: without(placement, NOT_DECIDED_OF_PLACEMENT) } : members,
    sentence: factSentence(event),
  };
};

export const lossOf = (executor_id: string): Decided => ({
  type: 'ExecutorLost',
  members: { executor_id },
  sentence: `${executor_id} is lost`,
});

/** Nobody sees these: ids and times are not compared. */
const STAMP = { event_id: '', time: '', instance: '' };
const ASSIGNMENT = { slot_allocation_id: '', inputs: {}, inputs_blob: null, term: 1 };

export const decidedBy = (decision: Decision): Decided => {
  if (decision.type === 'declare_lost') return lossOf(decision.executor);
  return decidedByEvent(
    decision.type === 'assign' ? assignedEvent(decision, STAMP, ASSIGNMENT) : endingEvent(decision, STAMP),
  );
};

const without = (data: object, names: ReadonlySet<string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !names.has(name)));
