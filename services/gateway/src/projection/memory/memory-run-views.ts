import type { Run } from '@runledger/contracts/fold/run';
import { pageOf, type Found, type Listed } from '../core/page.ts';
import { beginningOf, isSamePosition, type ProjectionPosition } from '../core/projection-start.ts';
import type { SortKey } from '../core/sort-key.ts';
import { webhookRow, type WebhookRow } from '../core/webhook-row.ts';
import { statusOf } from '../core/webhook-status.ts';
import type { RunQuery, RunViews, WebhookQuery } from '../run-views.ts';
import { viewIndex, type IndexedView } from './view-index.ts';

/** Of one page. Searching them takes some milliseconds. */
const MAX_SEARCHED = 100_000;

/** Views in the memory of one process, derived again from the log at every start. They need as much memory as the log holds. */
export const memoryRunViews = (): RunViews => {
  const index = viewIndex();
  let position: ProjectionPosition | undefined;
  return {
    shared: false,
    find: async (key) => index.find(key),
    load: async (keys) => keys.flatMap((key) => index.find(key) ?? []),
    save: async (views) => views.forEach((view) => index.put(view)),
    listRuns: async (query) => {
      const runs = search(index.newestFirst(query), ({ sortKey, view }) =>
        matchesRun(view.run, query) ? { item: view, sortKey, bytes: bytesOf(view.run) } : undefined,
      );
      return pageOf(readNow(runs, query.limit), query.limit);
    },
    listWebhooks: async (query) => {
      const rows = search(index.newestFirst(query), ({ sortKey, view }) => {
        const row = webhookRow(view);
        return row && matchesRow(row, query) ? { item: row, sortKey, bytes: 0 } : undefined;
      });
      return pageOf(readNow(rows, query.limit), query.limit);
    },
    countQueued: async (orgId, atMost) => Math.min(index.countQueued(orgId), atMost),
    position: async () => position,
    movePosition: async (from, to) => {
      if (!position || !isSamePosition(position, from)) return false;
      position = to;
      return true;
    },
    resetTo: async (stream_created) => {
      index.update((view) => ({ ...view, head: 0, webhook: { ...view.webhook, head: 0 } }));
      position = beginningOf(stream_created);
    },
  };
};

const search = function* <Item>(
  views: Iterable<IndexedView>,
  asListed: (indexed: IndexedView) => Listed<Item> | undefined,
): Generator<Found<Item>, undefined> {
  let searched = 0;
  let searchedTo: SortKey | undefined;
  for (const indexed of views) {
    if (searched === MAX_SEARCHED && searchedTo !== undefined) {
      yield { searchedTo };
      return;
    }
    searched += 1;
    searchedTo = indexed.sortKey;
    const listed = asListed(indexed);
    if (listed) yield listed;
  }
};

/** A page and one item more, read before the next await: the index may change after it. */
const readNow = <Item>(items: IteratorObject<Item>, limit: number): Item[] => items.take(limit + 1).toArray();

const matchesRun = (
  { status, request }: Run,
  { statuses, deploymentId, workflowId, gpu, origin }: RunQuery,
): boolean =>
  (statuses === undefined || statuses.includes(status)) &&
  (deploymentId === undefined || request.deployment_id === deploymentId) &&
  (workflowId === undefined || request.workflow_id === workflowId) &&
  (gpu === undefined || request.gpu === gpu) &&
  (origin === undefined || request.origin === origin);

const matchesRow = (row: WebhookRow, { statuses, host }: WebhookQuery): boolean =>
  statuses.includes(statusOf(row.webhook)) && (host === undefined || row.host === host);

/** The size of the run as JSON text, as another adapter stores it. */
const bytesOf = (run: Run): number => {
  const known = sizes.get(run);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(run));
  sizes.set(run, bytes);
  return bytes;
};

const sizes = new WeakMap<Run, number>();
