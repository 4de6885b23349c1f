import { IdempotencyKey } from '@runledger/contracts/http/runs/queue-run';
import {
  RerunRunsResponse,
  type RefusedRuns,
  type RerunRefusal,
  type RerunStop,
} from '@runledger/contracts/http/runs/rerun-runs';
import { RerunRunsRequest } from '@runledger/contracts/http/runs/runs';
import { Type } from 'typebox';
import { carryOutBulk } from './bulk.ts';
import { checkBulkCursor } from './filter.ts';
import { queueCallerOf } from './facts/deployment-queue.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { invalid, invalidRequest, Refused } from '../door/refusal.ts';
import { MISSING } from '../door/words.decide.ts';
import { FINAL_STATUSES, type RunView } from '../views/run-view.ts';
import { sortKeyBefore } from '../views/sort-key.decide.ts';
import { actOnEach } from '../act-on-each.ts';
import { runIdOfKey, type QueueCaller } from './facts/accept-run.ts';
import { rerunRun, type RerunResult } from './rerun.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';

const rerunManyOperation = operation({
  id: 'rerunRuns',
  method: 'POST',
  path: '/runs/rerun',
  tag: 'Runs',
  summary: 'Run many runs again',
  description:
    'Queues up to 1,000 runs again that have ended and match the filter, newest first, each as a single rerun without other inputs. `next_cursor` continues with the older ones. With one `Idempotency-Key` each run is queued again once at most, whatever becomes of the responses: send the same key with every page and every repetition, and a new one to queue the same runs once more. What the key has queued does not match itself. Reruns of other requests match like all runs: `origin` and the times of creation tell them apart. Deleted runs do not match. When the queue is full, the page ends early, and `next_cursor` continues later. To queue only runs that existed at a dry run, use the `created_before` of its first page that has one in the filter.',
  scope: 'runs:write',
  audit: { recordedWithin: 'runs.rerun' },
  request: {
    headers: Type.Object({
      'Idempotency-Key': Type.Optional({
        ...IdempotencyKey,
        description:
          '1 to 255 printable characters. Required, except for a dry run. Of one key of an organisation each run is queued again once at most, also on other pages and with other filters, while its rerun is kept.',
      }),
    }),
    body: RerunRunsRequest,
  },
  response: { status: 200, description: 'How many runs were queued again.', body: RerunRunsResponse },
});

/**
 * Each rerun has an idempotency key that is made of the client's and the run, so a request that is repeated, at any gateway and after any
 * failure, queues none twice. What it has queued never matches, also once that has ended. @throws {LogUnavailable} when some may have been
 * queued
 */
export const rerunManyRoute = (kit: Kit, runs: Runs): Route =>
  route(
    rerunManyOperation,
    async ({ headers, body }, caller, ctx) => {
      const by = queueCallerOf(ctx, caller, headers);
      const { idempotencyKey: key } = by;
      if (key === undefined && body.dry_run !== true) throw invalidRequest(NO_KEY);
      let isStopped = false;
      const rerunOne = async ({ run: { org_id, run_id } }: RunView): Promise<RerunOutcome | undefined> => {
        if (isStopped) return undefined;
        const given = { ...by, idempotencyKey: key && keyOfRerun(key, run_id) };
        const outcome = await outcomeOf(() => rerunRun(kit, runs, given, { org_id, run_id }, undefined));
        if (outcome.kind === 'queued') kit.metrics.queued();
        isStopped ||= outcome.kind === 'stopped';
        return outcome;
      };
      return carryOutBulk(kit, runs, body, caller, ctx, {
        action: 'runs.rerun',
        concerned: FINAL_STATUSES,
        matches: (view) => !isOwnRerun(view, by),
        none: NONE,
        detailsOf,
        carryOut: async (items) => {
          const outcomes = await actOnEach(items, rerunOne);
          const undecided = items.find((_, index) => (outcomes[index]?.kind ?? 'stopped') === 'stopped');
          // Those behind it that were decided on are found again, as already queued.
          return {
            counts: countsOf(items, outcomes),
            ...(undecided && { end: sortKeyBefore(undecided.run) }),
          };
        },
      });
    },
    checkBulkCursor,
  );

const NONE: RerunCounts = { matched: 0, queued: 0, already_queued: 0, refused: [], stopped: null };

const KEY_REQUIRED = `${MISSING.msg}. With it, a repeated request queues no run twice. Only a dry run needs none`;
const NO_KEY = invalid(['header', 'Idempotency-Key'], MISSING.type, KEY_REQUIRED);

const detailsOf = ({ matched, queued, already_queued, refused, stopped }: RerunCounts) => ({
  matched,
  queued,
  already_queued,
  refused: refused.reduce((sum, { runs }) => sum + runs, 0),
  stopped,
});

interface RerunCounts {
  /** Runs of this page that were decided on: the sum of the counts below. */
  readonly matched: number;
  readonly queued: number;
  /** An earlier request with the same key has queued them. */
  readonly already_queued: number;
  readonly refused: RefusedRuns[];
  /** Why some of the page were not decided on. */
  readonly stopped: RerunStop | null;
}

/** No client can send it: it has line breaks. */
const keyOfRerun = (key: string, run_id: string): string => `rerun\n${run_id}\n${key}`;

const isOwnRerun = ({ run }: RunView, { org_id, idempotencyKey: key }: QueueCaller): boolean => {
  const { rerun_of } = run.request;
  return (
    rerun_of !== null && key !== undefined && runIdOfKey(org_id, keyOfRerun(key, rerun_of)) === run.run_id
  );
};

const outcomeOf = async (rerun: () => Promise<RerunResult>): Promise<RerunOutcome> => {
  try {
    return rerunOutcome(await rerun());
  } catch (error) {
    // A file of its inputs has no room. That of another run may have.
    if (error instanceof Refused) return { kind: 'refused', reason: 'invalid_inputs' };
    throw error;
  }
};

const countsOf = (
  items: readonly RunView[],
  outcomes: readonly (RerunOutcome | undefined)[],
): RerunCounts => {
  const refused = new Map<RerunRefusal, RefusedRuns>();
  const counts = { matched: 0, queued: 0, already_queued: 0 };
  let stopped: RerunStop | null = null;
  for (const [index, outcome] of outcomes.entries()) {
    switch (outcome?.kind) {
      case undefined:
      case 'deleted':
        continue;
      case 'stopped':
        stopped ??= outcome.by;
        continue;
      case 'queued':
      case 'already_queued':
        counts[outcome.kind] += 1;
        break;
      case 'refused': {
        const { reason } = outcome;
        const { runs, run_id } = refused.get(reason) ?? { runs: 0, run_id: items[index]?.run.run_id ?? '' };
        refused.set(reason, { reason, runs: runs + 1, run_id });
      }
    }
    counts.matched += 1;
  }
  return { ...counts, refused: [...refused.values()], stopped };
};

/** What became of one run of a request to rerun many. */
type RerunOutcome =
  | { readonly kind: 'queued' }
  | { readonly kind: 'already_queued' }
  /** It was deleted since it was listed. */
  | { readonly kind: 'deleted' }
  | { readonly kind: 'refused'; readonly reason: RerunRefusal }
  /** Every other run would be refused for the same reason now. */
  | { readonly kind: 'stopped'; readonly by: RerunStop };

const rerunOutcome = (result: RerunResult): RerunOutcome => {
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
