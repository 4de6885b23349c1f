import { RunUuid } from '@runledger/contracts/http/fields';
import { runId, type OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { Type } from 'typebox';
import type { SuccessResponse } from '../door/operation.ts';
import { notFound, Refused } from '../door/refusal.ts';
import type { NoRun, ReadCurrentRun } from './facts/current-run.ts';
import type { RunView } from '../views/run-view.ts';

/** The parameters of a path that names a run. */
export const RunPath = Type.Object({ run_id: RunUuid });

/** What a client can do with a run, whose id the body of a response has at this place. */
export const runLinks = (pointer: '/id' | '/run_id'): NonNullable<SuccessResponse['links']> => ({
  to: ['getRun', 'getRunWaiting', 'watchRun', 'getRunLogs', 'getRunHistory', 'cancelRun', 'getDeliveries'],
  parameters: { run_id: pointer },
});

/** The run that a path names, as one of the caller's organisation. */
export const runKeyOf = (
  { run_id }: { readonly run_id: string },
  { org_id }: { readonly org_id: OrgId },
): RunKey => ({ org_id, run_id: runId(run_id) });

/** The run now. @throws {Refused} when it cannot be shown @throws {LogUnavailable} */
export const existingRun = async (current: ReadCurrentRun, key: RunKey): Promise<RunView> => {
  const found = await current(key);
  if (found.kind !== 'found') throw notFoundRun(found);
  return found;
};

/** The refusal for a run that cannot be shown. */
export const notFoundRun = (found: NoRun): Refused => {
  switch (found.kind) {
    case 'none':
      return notFound('Run');
    case 'deleted':
      return new Refused({ code: 'run_deleted', why: 'The run was deleted' });
    case 'views_unavailable':
      return new Refused({
        code: 'views_unavailable',
        why: 'The store of older runs cannot be reached now, and the log does not have this one. Try again',
      });
    case 'unreadable':
      return new Refused({ code: 'run_unreadable', why: `The run cannot be read now: ${found.why}` });
  }
};

/** The refusal for what other writers have changed in each of several tries. */
export const changedConcurrently = (what: 'run' | 'delivery', change: string): Refused =>
  new Refused({
    code: 'changed_concurrently',
    why: `The ${what} changed again and again while ${change} was stored. Try again`,
  });
