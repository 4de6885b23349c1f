import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { activeTraceparent, inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import { attemptAttributes, type Assignment } from './core/assignment.ts';
import type { Executed } from './core/end-of-attempt.ts';

/** From the assignment to the end of the attempt, below the append of the assignment. */
export const attemptSpan = (
  assignment: Assignment,
  { traceparent }: Pick<StoredMessage, 'traceparent'>,
  work: () => Promise<void>,
): Promise<void> => {
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'RUNS',
    'messaging.message.id': assignment.event.event_id,
    'runledger.slot': assignment.event.data.slot,
    ...attemptAttributes(assignment),
  };
  const parent = traceparent ?? assignment.event.traceparent;
  return inSpan('process RunAssigned', { kind: 'consumer', parent, attributes }, work);
};

/** While the workflow runs. `run` gets the trace context that the workflow may continue. */
export const runnerSpan = (
  assignment: Assignment,
  run: (traceparent: string | null) => Promise<Executed>,
): Promise<Executed> => {
  const { kind } = assignment.event.data.runner;
  const attributes = { 'runledger.runner': kind, ...attemptAttributes(assignment) };
  return inSpan('run workflow', { kind: 'internal', attributes }, async (span) => {
    const result = await run(activeTraceparent() ?? assignment.event.traceparent);
    span.setAttribute('runledger.outcome', result.outcome);
    if (FAILURES.has(result.outcome)) markFailed(span, result.outcome);
    return result;
  });
};

const FAILURES: ReadonlySet<Executed['outcome']> = new Set(['failed', 'not_runnable', 'timed_out']);
