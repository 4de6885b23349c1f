import { RunListQuery, RunPage, RunCountQuery, RunCounts } from '@runledger/contracts/http/runs/runs';
import type { RunId } from '@runledger/contracts/ids';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { actOnEach } from '../act-on-each.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { cursorAt, DEFAULT_LIMIT } from '../door/pagination.ts';
import { checkRunCursor, sortKeyAt } from './filter.ts';
import { openIncluded, readResponse } from './run-response.ts';
import { readLive } from './queue-positions.ts';
import { showCallback } from './run-response.ts';
import { createdAtIn, sortKeyOf } from '../views/sort-key.decide.ts';
import { pageOf, type Page, type RunQuery } from '../views/list-query.decide.ts';
import { isFound } from '../views/run-search.decide.ts';
import type { RunView } from '../views/run-view.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { pastRuns } from './past-run.ts';
import type { ReadCurrentRun } from './facts/current-run.ts';
import { MAX_COUNTED } from '../views/counts.decide.ts';

const listRunsOperation = operation({
  id: 'listRuns',
  method: 'GET',
  path: '/runs',
  tag: 'Runs',
  summary: 'List runs',
  description:
    'The runs that match every filter, newest first. The request waits up to 2 seconds until the list shows everything that was stored before. Pages skip no run and repeat none, also while runs are queued. With `at` it shows the runs as they were then, as far as the log or the archive still has their facts; deleted ones are not in it. With `search` a page says how far back it has looked.',
  scope: 'runs:read',
  request: { query: RunListQuery },
  response: { status: 200, description: 'A page of runs.', body: RunPage },
});

/** Blobs that are read before the page has room for them: some megabytes at most. */
const READ_AHEAD = 8;

/** Runs as a read of each shows them. A page ends early when the inputs, workflows and long lists of outputs in it become too large. */
export const listRunsRoute = (kit: Kit, runs: Runs): Route =>
  route(
    listRunsOperation,
    async ({ query: { include, at, limit = DEFAULT_LIMIT, cursor, ...filter } }, caller) => {
      const behind = sortKeyAt(cursor);
      const selected = await runs.selectRuns(caller.org_id, filter, ['query']);
      const query = { ...selected, ...(behind === undefined ? {} : { behind }), limit };
      const found = await (at === undefined
        ? listPresent(kit, runs, query)
        : listPast(kit, runs, query, Date.parse(at)));
      const live = await readLive(runs, at === undefined ? found.items.map(({ run }) => run) : []);
      const readIncluded = openIncluded(kit, include);
      const client = { outputUrl: runs.outputUrl, showCallback: showCallback(caller.key.scopes) };
      const responses = workAhead(found.items, READ_AHEAD, async ({ run, webhook: { state: webhook } }) => {
        const context = { ...live(run), ...client };
        const { response, bytes } = await readResponse(runs.lists, { run, webhook }, readIncluded, context);
        return { item: response, sortKey: sortKeyOf(run), bytes };
      });
      const page = await pageOf(responses, limit);
      const end = page.end ?? found.end;
      return {
        runs: [...page.items],
        ...(at === undefined ? {} : { unknown_runs: [...found.unknown] }),
        ...(filter.search === undefined ? {} : { searched_to: end === undefined ? null : createdAtIn(end) }),
        next_cursor: cursorAt(end),
      };
    },
    checkRunCursor,
  );

/** `unknown`: of which nobody knows how they were. */
interface FoundRuns extends Page<RunView> {
  readonly unknown: readonly RunId[];
}

const listPresent = async (
  { log, views }: Kit,
  { current, fresh }: Runs,
  query: RunQuery,
): Promise<FoundRuns> => {
  const isFresh = await fresh.becomeFresh(query.org_id);
  const { items: viewed, end } = await views.listRuns(query);
  return { items: isFresh ? viewed : await presentRuns(log, current, viewed), unknown: [], end };
};

/** What a run was created with does not change. Its status and its error do, so they are looked at afterwards. */
const listPast = async (
  { views }: Kit,
  runs: Runs,
  { statuses, ...query }: RunQuery,
  at: number,
): Promise<FoundRuns> => {
  await runs.fresh.becomeFresh(query.org_id);
  const createdBefore = new Date(Math.min(at + 1, query.createdBefore?.getTime() ?? Infinity));
  const { items: viewed, end } = await views.listRuns({ ...query, createdBefore });
  const { known, unknown } = await pastRuns(runs, viewed, at);
  const { search } = query;
  const matches = ({ run }: RunView): boolean =>
    statuses?.includes(run.status) !== false && (!search || isFound(run, search));
  return { items: known.filter(matches), unknown, end };
};

/**
 * The runs of a page as the log has them, without those that were deleted. As they are viewed, while the log is unavailable.
 * For a page of views that are behind. A list may lack the newest runs then, but it shows no run and no outputs after their deletion
 * was answered.
 */
const presentRuns = async (
  log: EventLog,
  current: ReadCurrentRun,
  viewed: readonly RunView[],
): Promise<RunView[]> => {
  const reading = { isPossible: log.connected() };
  const present = async (view: RunView): Promise<RunView[]> => {
    if (!reading.isPossible) return [view];
    try {
      const { org_id, run_id } = view.run;
      const now = await current({ org_id, run_id });
      if (now.kind === 'deleted') return [];
      return now.kind === 'found' ? [now] : [view];
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      // Each further read would wait for it.
      reading.isPossible = false;
      return [view];
    }
  };
  return (await actOnEach(viewed, present)).flat();
};

/** The results of work on each item, in order. Work on at most `ahead` items is begun before their turn. */
async function* workAhead<Item, Result>(
  items: readonly Item[],
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  for (const at of items.keys()) {
    for (const item of items.slice(begun.length, at + 1 + ahead)) {
      const result = work(item);
      // Nothing awaits it when the reader stops.
      result.catch(() => undefined);
      begun.push(result);
    }
    const next = begun[at];
    if (next) yield await next;
  }
}

const most = MAX_COUNTED.toLocaleString('en');

const countRunsOperation = operation({
  id: 'countRuns',
  method: 'GET',
  path: '/runs/counts',
  tag: 'Runs',
  summary: 'Count runs',
  description: `How many runs that match every filter have each status now. The request waits up to 2 seconds until the counts show everything that was stored before. It looks at the newest ${most} runs of each status at most; with filters other than \`status\` and times, at the newest ${most} of all runs that have ended. If there are more, \`complete\` is false.`,
  scope: 'runs:read',
  request: { query: RunCountQuery },
  response: { status: 200, description: 'The counts.', body: RunCounts },
});

export const countRunsRoute = ({ views }: Kit, { fresh, selectRuns }: Runs): Route =>
  route(countRunsOperation, async ({ query }, caller) => {
    const selected = await selectRuns(caller.org_id, query, ['query']);
    await fresh.becomeFresh(caller.org_id);
    const { counts, isComplete } = await views.countRuns(selected);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return { counts, total, complete: isComplete };
  });
