import { Type, type Static } from 'typebox';
import { enumInWords, nullable } from '../../schemas.ts';
import { RunUuid } from '../fields.ts';
import { PageOfMany } from './runs.ts';

/** Closed: why a run that matches was not queued again. */
export const RerunRefusal = enumInWords(
  {
    deployment_gone: 'The deployment was archived or deleted.',
    workflow_gone: 'The workflow version was deleted, or its workflow is lost.',
    inputs_gone: 'The inputs have expired or are damaged.',
    invalid_inputs: 'A file of the inputs is gone, or its address is not allowed any more.',
    inputs_too_large: 'The inputs are larger than a run may have.',
    inputs_over_quota: 'The organisation has no room left for the inputs.',
    inputs_store_full: 'The store has no room left for the inputs.',
    outlives_log: 'With its time limits the run could live longer than the log.',
    unreadable: 'The state of the run cannot be read now: repeat the request.',
  },
  { description: 'Why the runs were not queued again.' },
);
export type RerunRefusal = Static<typeof RerunRefusal>;

/** Closed: why a page ended before its last run. */
export const RerunStop = enumInWords(
  {
    queue_full: 'The organisation has as many queued runs as it may.',
    log_nearly_full: 'The log has no room for another run.',
  },
  { description: 'Why the page ended early.' },
);
export type RerunStop = Static<typeof RerunStop>;

const RefusedRuns = Type.Object({
  reason: RerunRefusal,
  runs: Type.Integer({
    minimum: 1,
    description: 'The number of runs refused for this reason.',
    examples: [2],
  }),
  run_id: {
    ...RunUuid,
    description: 'The newest of them. Its own rerun is refused with a sentence that says more.',
  },
});
export type RefusedRuns = Static<typeof RefusedRuns>;

export const RerunRunsResponse = Type.Object(
  {
    matched: Type.Integer({
      minimum: 0,
      description:
        'The number of runs of this page that matched the filter and were decided on: the sum of the counts below. Reruns that this Idempotency-Key has queued do not match.',
      examples: [40],
    }),
    queued: Type.Integer({
      minimum: 0,
      description: 'Of these, the number of runs that were queued again now.',
      examples: [38],
    }),
    already_queued: Type.Integer({
      minimum: 0,
      description:
        'Of these, the number of runs that an earlier request with this Idempotency-Key has queued again.',
      examples: [0],
    }),
    refused: Type.Array(RefusedRuns, {
      description: 'Of these, runs that could not be queued again: how many for each reason.',
    }),
    stopped: nullable(
      RerunStop,
      'Then `next_cursor` is the cursor of the runs that were not decided on: send it later, with the same Idempotency-Key. Null when the page did not end early.',
    ),
    ...PageOfMany,
  },
  { title: 'RerunRunsResponse', description: 'What became of the runs of one page.' },
);
