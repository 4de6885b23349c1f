import { Type, type Static } from 'typebox';
import { Uuid } from '../fields/values.ts';
import { PageOfMany } from './runs.ts';

/** Closed: why a run that matches was not queued again. */
export const RerunRefusal = Type.Enum([
  'deployment_gone',
  'workflow_gone',
  'inputs_gone',
  'invalid_inputs',
  'inputs_too_large',
  'inputs_over_quota',
  'inputs_store_full',
  'outlives_log',
  'unreadable',
]);
export type RerunRefusal = Static<typeof RerunRefusal>;

/** Closed: why a page ended before its last run. */
export const RerunStop = Type.Enum(['queue_full', 'log_nearly_full']);
export type RerunStop = Static<typeof RerunStop>;

const RefusedRuns = Type.Object({
  reason: {
    ...RerunRefusal,
    description:
      '`deployment_gone`: the deployment was archived or deleted. `workflow_gone`: the workflow version was deleted, or its workflow is lost. `inputs_gone`: the inputs have expired or are damaged. `invalid_inputs`: a file of the inputs is gone, or its address is not allowed any more. `inputs_too_large`, `inputs_over_quota`, `inputs_store_full`: there is no room for the inputs. `outlives_log`: with its time limits the run could live longer than the log. `unreadable`: the state of the run cannot be read now; repeat the request.',
  },
  runs: Type.Integer({ minimum: 1 }),
  run_id: {
    ...Uuid,
    description: 'The newest of them. Its own rerun is refused with a sentence that says more.',
  },
});
export type RefusedRuns = Static<typeof RefusedRuns>;

export const RerunRunsResponse = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description:
        'Runs of this page that matched the filter and were decided on: the sum of the counts below. Reruns that this Idempotency-Key has queued do not match.',
    }),
    queued: Type.Integer({ minimum: 0, description: 'Of these, runs that were queued again now.' }),
    already_queued: Type.Integer({
      minimum: 0,
      description: 'Of these, runs that an earlier request with this Idempotency-Key has queued again.',
    }),
    refused: Type.Array(RefusedRuns, {
      description: 'Of these, runs that could not be queued again: how many for each reason.',
    }),
    stopped: Type.Union([RerunStop, Type.Null()], {
      description:
        'Why the page ended early: the organisation has as many queued runs as it may (`queue_full`), or the log has no room for another run (`log_nearly_full`). `next_cursor` is then the cursor of the runs that were not decided on: send it later, with the same Idempotency-Key.',
    }),
    ...PageOfMany,
  },
  { title: 'RerunRunsResponse' },
);
