import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { activeTraceparent, inSpan, markFailed } from '@runledger/service-kit/tracing/spans';
import type { Assignment } from './core/assignment.ts';
import type { RunResult } from '../runner/runner.ts';
import type { PutResult } from '../upload/put-file.ts';

const about = ({ org_id, run_id, attempt, executor_id }: Assignment): Record<string, string | number> => ({
  'runledger.org_id': org_id,
  'runledger.run_id': run_id,
  'runledger.attempt': attempt,
  'runledger.executor_id': executor_id,
});

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
    ...about(assignment),
  };
  const parent = traceparent ?? assignment.event.traceparent;
  return inSpan('process RunAssigned', { kind: 'consumer', parent, attributes }, work);
};

/** While the workflow runs. `run` gets the trace context for the workflow, that it may go on with. */
export const runnerSpan = (
  assignment: Assignment,
  run: (traceparent: string | null) => Promise<RunResult>,
): Promise<RunResult> => {
  const attributes = { 'runledger.runner': assignment.event.data.runner.kind, ...about(assignment) };
  return inSpan('run workflow', { kind: 'internal', attributes }, async (span) => {
    const result = await run(activeTraceparent() ?? assignment.event.traceparent);
    span.setAttribute('runledger.outcome', result.outcome);
    if (result.outcome === 'failed' || result.outcome === 'not_runnable') markFailed(span, result.outcome);
    return result;
  });
};

/** One try to store one file. Its name may say what it holds, and stays out. */
export const uploadSpan = (
  assignment: Assignment,
  bytes: number,
  put: () => Promise<PutResult>,
): Promise<PutResult> => {
  const attributes = {
    'http.request.method': 'PUT',
    'http.request.body.size': bytes,
    ...about(assignment),
  };
  return inSpan('PUT output', { kind: 'client', attributes }, async (span) => {
    const answer = await put();
    if (answer.kind !== 'stored') markFailed(span, answer.kind);
    return answer;
  });
};
