import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import type { RunId } from '@runledger/contracts/ids';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { OutputUrl } from '@runledger/contracts/run-view/shown-outputs';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { workAhead } from '../../concurrency/work-ahead.ts';
import { runResponse } from '../read/core/run-response.ts';
import type { Include, OpenIncluded } from '../read/read-included.ts';
import { pageOf, type Page } from '../../projection/core/page.ts';
import { isFound } from '../../projection/core/search/run-search.ts';
import { sortKeyOf } from '../../projection/core/sort-key.ts';
import type { RunViews } from '../../projection/run-views.ts';
import type { RunQuery } from '../../projection/core/list-query.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { FreshViews } from '../../projection/fresh-views.ts';
import type { ReadPastRuns } from '../history/past-runs.ts';
import type { PresentRuns } from './present-runs.ts';
import type { ShowCallback } from '../../webhooks/core/show-callback.ts';
import type { QueuePositions } from '../read/queue-positions.ts';

/** The runs of a list, and of which of them nobody knows how they were. */
interface ListedRuns extends Page<WorkflowRun> {
  readonly unknown: readonly RunId[];
}

export interface ListRunsOptions {
  readonly views: RunViews;
  readonly fresh: Pick<FreshViews, 'becomeFresh'>;
  readonly present: PresentRuns;
  readonly past: ReadPastRuns;
  readonly lists: OutputLists;
  readonly progress: (run: Run) => Promise<ProgressReport | undefined>;
  readonly positions: QueuePositions;
  readonly included: OpenIncluded;
  readonly outputUrl: OutputUrl;
}

/** `at`: the time at which they are shown, in milliseconds since 1970; undefined for now. */
interface RunsQuery extends RunQuery {
  readonly at?: number | undefined;
}

/** @throws {ViewsUnavailable} @throws {LogUnavailable} when members are included, or for a past time */
export type ListRuns = (
  query: RunsQuery,
  include: Include,
  showCallback: ShowCallback,
) => Promise<ListedRuns>;

/** Blobs that are read before the page has room for them: some megabytes at most. */
const READ_AHEAD = 8;

/** Runs as a read of each shows them. A page ends early when the inputs, workflows and long lists of outputs in it become too large. */
export const listRuns =
  (options: ListRunsOptions): ListRuns =>
  async (query, include, showCallback) => {
    const { lists, progress, positions, included, outputUrl } = options;
    const { items, unknown, end } = await (query.at === undefined
      ? listPresent(options, query)
      : listPast(options, query, query.at));
    const isPast = query.at !== undefined;
    const [reports, waiting] = await Promise.all([
      reportsOf(isPast ? [] : items, progress),
      positions(isPast ? [] : items.flatMap(({ run }) => (run.status === 'queued' ? [keyOf(run)] : []))),
    ]);
    const readIncluded = included(include);
    const shown = workAhead(items, READ_AHEAD, async ({ run: known, webhook }) => {
      const [{ run, missing }, members] = await Promise.all([lists.ofRun(known), readIncluded(known)]);
      const item = runResponse(run, {
        webhook: webhook.state,
        report: reports.get(run.run_id),
        position: waiting.get(run.run_id),
        included: { ...members, missing: [...members.missing, ...missing] },
        outputUrl,
        showCallback,
      });
      return { item, sortKey: sortKeyOf(run), bytes: members.bytes + listBytes(known) };
    });
    const page = await pageOf(shown, query.limit);
    return { items: page.items, unknown, end: page.end ?? end };
  };

interface FoundRuns extends Page<RunView> {
  readonly unknown: readonly RunId[];
}

const listPresent = async (
  { views, fresh, present }: Pick<ListRunsOptions, 'views' | 'fresh' | 'present'>,
  query: RunQuery,
): Promise<FoundRuns> => {
  const isFresh = await fresh.becomeFresh();
  const { items: viewed, end } = await views.listRuns(query);
  return { items: isFresh ? viewed : await present(viewed), unknown: [], end };
};

/** What a run was created with does not change. Its status and its error do, so they are looked at afterwards. */
const listPast = async (
  { views, fresh, past }: Pick<ListRunsOptions, 'views' | 'fresh' | 'past'>,
  { statuses, ...query }: RunQuery,
  at: number,
): Promise<FoundRuns> => {
  await fresh.becomeFresh();
  const createdBefore = new Date(Math.min(at + 1, query.createdBefore?.getTime() ?? Infinity));
  const { items: viewed, end } = await views.listRuns({ ...query, createdBefore });
  const { known, unknown } = await past(viewed, at);
  const { search } = query;
  const matches = ({ run }: RunView): boolean =>
    statuses?.includes(run.status) !== false && (!search || isFound(run, search));
  return { items: known.filter(matches), unknown, end };
};

const listBytes = (run: Run): number => (isEnded(run) ? (run.outputs_blob?.bytes ?? 0) : 0);

const keyOf = ({ org_id, run_id }: Run): RunKey => ({ org_id, run_id });

const reportsOf = async (
  items: readonly RunView[],
  progress: ListRunsOptions['progress'],
): Promise<ReadonlyMap<RunId, ProgressReport | undefined>> => {
  const executing = items.map(({ run }) => run).filter(isExecuting);
  return new Map(await Promise.all(executing.map(async (run) => [run.run_id, await progress(run)] as const)));
};
