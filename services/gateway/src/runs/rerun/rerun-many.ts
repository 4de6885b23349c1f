import type { RefusedRuns, RerunRefusal, RerunStop } from '@runledger/contracts/http/runs/rerun-runs';
import { Refused } from '../../http/refusal.ts';
import { FINAL_STATUSES, type RunView } from '../../projection/core/run-view.ts';
import { sortKeyBefore } from '../../projection/core/sort-key.ts';
import { actOnEach } from '../../concurrency/act-on-each.ts';
import type { BulkQuery, BulkResult, FindMatching } from '../bulk/matching-runs.ts';
import type { QueueCaller } from '../queue/accept-run.ts';
import { runIdOfKey } from '../queue/run-identity.ts';
import { rerunOutcome, type RerunOutcome } from './rerun-outcome.ts';
import type { RerunRun } from './rerun-run.ts';

export interface RerunCounts {
  /** Runs of this page that were decided on: the sum of the counts below. */
  readonly matched: number;
  readonly queued: number;
  /** An earlier request with the same key has queued them. */
  readonly already_queued: number;
  readonly refused: RefusedRuns[];
  /** Why some of the page were not decided on. */
  readonly stopped: RerunStop | null;
}

export interface RerunManyOptions {
  readonly find: FindMatching;
  readonly rerun: RerunRun;
  readonly onQueued: () => void;
}

/** The key is the client's, for all pages and every repetition of a request. A dry run needs none. */
export type RerunMany = (
  query: BulkQuery,
  by: QueueCaller,
  dryRun: boolean,
) => Promise<BulkResult<RerunCounts>>;

const NONE: RerunCounts = { matched: 0, queued: 0, already_queued: 0, refused: [], stopped: null };

/**
 * Runs that have ended, the newest first. Each rerun has an idempotency key that is made of the client's and the run, so a
 * request that is repeated, at any gateway and after any failure, queues none twice. What it has queued never matches, also once
 * that has ended. @throws {LogUnavailable} when some may have been queued @throws {ViewsUnavailable}
 */
export const rerunMany =
  ({ find, rerun, onQueued }: RerunManyOptions): RerunMany =>
  async (query, by, dryRun) => {
    const { items: listed, createdBefore, end } = await find(query, FINAL_STATUSES);
    const items = listed.filter((view) => !isOwnRerun(view, by));
    if (dryRun) return { counts: { ...NONE, matched: items.length }, createdBefore, end };
    let isStopped = false;
    const rerunOne = async ({ run: { org_id, run_id } }: RunView): Promise<RerunOutcome | undefined> => {
      if (isStopped) return undefined;
      const given = { ...by, idempotencyKey: by.idempotencyKey && keyOfRerun(by.idempotencyKey, run_id) };
      const outcome = await outcomeOf(() => rerun(given, { org_id, run_id }, undefined));
      if (outcome.kind === 'queued') onQueued();
      isStopped ||= outcome.kind === 'stopped';
      return outcome;
    };
    const outcomes = await actOnEach(items, rerunOne);
    const undecided = items.find((_item, index) => (outcomes[index]?.kind ?? 'stopped') === 'stopped');
    return {
      counts: countsOf(items, outcomes),
      createdBefore,
      // Those behind it that were decided on are found again, as already queued.
      end: undecided ? sortKeyBefore(undecided.run) : end,
    };
  };

/** No client can send it: it has line breaks. */
const keyOfRerun = (key: string, run_id: string): string => `rerun\n${run_id}\n${key}`;

const isOwnRerun = ({ run }: RunView, { org_id, idempotencyKey: key }: QueueCaller): boolean => {
  const { rerun_of } = run.request;
  return (
    rerun_of !== null && key !== undefined && runIdOfKey(org_id, keyOfRerun(key, rerun_of)) === run.run_id
  );
};

const outcomeOf = async (rerun: () => ReturnType<RerunRun>): Promise<RerunOutcome> => {
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
