import { DeleteOutputsResponse, DeleteRunResponse, Tombstone } from '@runledger/contracts/http/runs/run';
import type { Context } from 'koa';
import { isDeleted } from '@runledger/contracts/fold/run';
import { readRun } from '@runledger/event-log/read/read-run';
import { operation, route, requestOf, type Caller, type Route } from '../door/operation.ts';
import { Refused, notFound, type Conflict } from '../door/refusal.ts';
import { changedConcurrently, notFoundRun, RunPath, runKeyOf } from './run-path.ts';
import type { Deletable, DeletionRefusal } from './facts/delete.decide.ts';
import { ofCompleteViews } from '../views/fresh-views.ts';
import { outputsToErase, type StoredView } from '../views/run-view.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

const deleteRunOperation = operation({
  id: 'deleteRun',
  method: 'DELETE',
  path: '/run/{run_id}',
  tag: 'Runs',
  summary: 'Delete a run',
  description:
    'Deletes a run that has ended, with its inputs, outputs, logs and files. From then on it is not shown: 404, also for this request when it is repeated, with the code `run_deleted` while the log has the deletion. All of that is erased within seconds, except content that another run has too; `GET /run/{run_id}/tombstone` says when it is done. The facts of the run, which include inputs and outputs of up to 4 KiB, are shown to nobody and leave the log with its age, after 7 days by default.',
  scope: 'runs:write',
  audit: { action: 'run.deleted', target: 'run_id' },
  request: { path: RunPath },
  response: { status: 200, description: 'The run is deleted.', body: DeleteRunResponse },
  refusals: [404, 409],
});

const deleteOutputsOperation = operation({
  id: 'deleteRunOutputs',
  method: 'DELETE',
  path: '/run/{run_id}/outputs',
  tag: 'Runs',
  summary: 'Delete the outputs of a run',
  description:
    'Deletes the outputs of a run that has ended, with their files, which are erased within seconds. The run stays: its `outputs` are empty, and `missing_members` says so. Repeating the request changes nothing.',
  scope: 'runs:write',
  audit: { action: 'run.outputs_deleted', target: 'run_id' },
  request: { path: RunPath },
  response: { status: 200, description: 'The outputs are deleted.', body: DeleteOutputsResponse },
  refusals: [404, 409],
});

export const deleteRoutes = ({ delete: deleteRun }: Runs): Route[] => {
  const carryOut = async (
    what: Deletable,
    path: { readonly run_id: string },
    caller: Caller,
    ctx: Context,
  ) => {
    const key = runKeyOf(path, caller);
    const { traceparent } = requestOf(ctx);
    const result = await deleteRun(what, key, {
      user_id: caller.user_id,
      key_id: caller.key.id,
      traceparent,
    });
    switch (result.kind) {
      case 'deleted':
      case 'already_deleted':
        return { run_id: key.run_id, outcome: result.kind };
      case 'refused':
        throw new Refused(WHY[result.because]);
      case 'too_busy':
        throw changedConcurrently('run', 'its deletion');
      case 'log_nearly_full':
        throw new Refused({
          code: 'log_full',
          why: 'The log of runs has no room for a deletion now. Nothing was deleted: try again when some runs have ended or old runs have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
        });
      case 'deleted_before':
        throw notFoundRun({ kind: 'deleted' });
      case 'none':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(result);
    }
  };
  return [
    route(deleteRunOperation, async ({ path }, caller, ctx) => {
      const { run_id } = await carryOut('run', path, caller, ctx);
      return { run_id, outcome: 'deleted' as const };
    }),
    route(deleteOutputsOperation, ({ path }, caller, ctx) => carryOut('outputs', path, caller, ctx)),
  ];
};

const WHY: Readonly<Record<DeletionRefusal, Conflict>> = {
  not_ended: {
    code: 'run_not_ended',
    why: 'The run has not ended: cancel it first, or wait for its end, and delete it then',
  },
  not_notified: {
    code: 'notification_not_settled',
    why: 'The final notification of the run is not settled, and is made from the run: wait until its webhook_status is `success` or `failed`, and delete it then',
  },
};

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

export const tombstoneRoute = ({ log, views }: Kit, { fresh }: Runs): Route =>
  route(tombstoneOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const read = await readRun(log, key);
    if (read.kind !== 'deleted') throw notFound('Tombstone');
    const { run_id, number, created_at, deleted_at, deleted_by, erases } = read.run;
    const isErased = await ofCompleteViews(views, fresh, key.org_id, async () =>
      hasNothingToErase(await views.find(key)),
    );
    const state = isErased === true ? ('erased' as const) : ('erasing' as const);
    return { run_id, number, created_at, deleted_at, deleted_by, state, erases };
  });

/** Its view says what is left, and goes when the log forgets the run. */
const hasNothingToErase = (view: StoredView | undefined): boolean =>
  view === undefined || (isDeleted(view.run) && outputsToErase(view.run) === null);
