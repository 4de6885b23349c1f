import type { RerunRefusal, RerunStop } from '@runledger/contracts/http/runs/rerun-runs';
import type { RerunResult } from './rerun-run.ts';

/** What became of one run of a request to rerun many. */
export type RerunOutcome =
  | { readonly kind: 'queued' }
  | { readonly kind: 'already_queued' }
  /** It was deleted since it was listed. */
  | { readonly kind: 'deleted' }
  | { readonly kind: 'refused'; readonly reason: RerunRefusal }
  /** Every other run would be refused for the same reason now. */
  | { readonly kind: 'stopped'; readonly by: RerunStop };

export const rerunOutcome = (result: RerunResult): RerunOutcome => {
  switch (result.kind) {
    case 'accepted':
      return { kind: 'queued' };
    case 'accepted_before':
    // Nothing else can have this key: the seal that proved it is gone.
    case 'key_taken':
    case 'key_of_deleted_run':
      return { kind: 'already_queued' };
    case 'log_nearly_full':
    case 'queue_full':
      return { kind: 'stopped', by: result.kind };
    case 'outlives_log':
    case 'inputs_gone':
    case 'inputs_store_full':
    case 'inputs_too_large':
    case 'inputs_over_quota':
      return refused(result.kind);
    case 'views_unavailable':
    case 'unreadable':
      return refused('unreadable');
    case 'refused':
      return notRerun(result.why);
  }
};

const refused = (reason: RerunRefusal): RerunOutcome => ({ kind: 'refused', reason });

const notRerun = (why: Extract<RerunResult, { kind: 'refused' }>['why']): RerunOutcome => {
  if (why === 'no_deployment' || why === 'archived_deployment') return refused('deployment_gone');
  if (why === 'no_workflow') return refused('workflow_gone');
  switch (why.kind) {
    case 'invalid':
      return refused('invalid_inputs');
    case 'none':
    case 'deleted':
      return { kind: 'deleted' };
    case 'views_unavailable':
    case 'unreadable':
      return refused('unreadable');
  }
};
