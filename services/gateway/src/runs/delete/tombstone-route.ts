import { isDeleted } from '@runledger/contracts/fold/run';
import { Tombstone } from '@runledger/contracts/http/runs/delete-run';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readRun } from '@runledger/event-log/read/read-run';
import { operation, route, type Route } from '../../http/operation.ts';
import { notFound } from '../../http/refusal.ts';
import { ofCompleteViews, type CompleteViewsOptions } from '../../projection/of-complete-views.ts';
import { outputsToErase, type StoredView } from '../../projection/core/run-view.ts';
import type { RunViews } from '../../projection/run-views.ts';
import { RunPath, runKeyOf } from '../current/run-path.ts';

const tombstoneOperation = operation({
  id: 'getTombstone',
  method: 'GET',
  path: '/run/{run_id}/tombstone',
  tag: 'Runs',
  summary: 'Read what a deletion erased',
  description:
    'When and by whom a run was deleted, what it had, and whether all of that is erased. It is the last fact of the run, which leaves the log with its age, after 7 days by default.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'The run was deleted.', body: Tombstone },
  refusals: [404],
});

export interface TombstoneRoute extends CompleteViewsOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'find' | 'position'>;
}

export const tombstoneRoute = ({ log, views, fresh }: TombstoneRoute): Route =>
  route(tombstoneOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const read = await readRun(log, key);
    if (read.kind !== 'deleted') throw notFound('Tombstone');
    const { run_id, number, created_at, deleted_at, deleted_by, erases } = read.run;
    const isErased = await ofCompleteViews({ views, fresh }, async () =>
      hasNothingToErase(await views.find(key)),
    );
    const state = isErased === true ? ('erased' as const) : ('erasing' as const);
    return { run_id, number, created_at, deleted_at, deleted_by, state, erases };
  });

/** Its view says what is left, and goes when the log forgets the run. */
const hasNothingToErase = (view: StoredView | undefined): boolean =>
  view === undefined || (isDeleted(view.run) && outputsToErase(view.run) === null);
