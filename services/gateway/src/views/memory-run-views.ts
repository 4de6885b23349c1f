import { statusOf } from '../domain/webhook-status.ts';
import {
  isSameRun,
  mayReplace,
  type ProjectionPosition,
  type RowPlace,
  type RunView,
  type RunViews,
  type WebhookQuery,
} from './run-views.ts';
import { webhookRow, type WebhookRow } from './webhook-row.ts';

/** Views of one process, rebuilt from the log at every start; as large as what the log holds. */
export const memoryRunViews = (): RunViews => {
  const views = new Map<string, RunView>();
  let position: ProjectionPosition | undefined;
  return {
    shared: false,
    find: async (key) => {
      const view = views.get(key.run_id);
      return isSameRun(view, key) ? view : undefined;
    },
    load: async (keys) =>
      keys.flatMap((key) => {
        const view = views.get(key.run_id);
        return isSameRun(view, key) ? [view] : [];
      }),
    save: async (given) => {
      for (const view of given) {
        const present = views.get(view.run.run_id);
        if (!present || mayReplace(present, view)) views.set(view.run.run_id, view);
      }
    },
    listWebhooks: async (query) =>
      [...views.values()]
        .flatMap((view) => webhookRow(view) ?? [])
        .filter((row) => isAskedFor(row, query))
        .sort(newestFirst)
        .slice(0, query.limit),
    position: async () => position,
    savePosition: async (next) => {
      if (position && position.stream_created !== next.stream_created) return;
      if (!position || position.sequence < next.sequence) position = next;
    },
    startAgain: async (stream_created) => {
      for (const [id, view] of views)
        views.set(id, { ...view, head: 0, webhook: { ...view.webhook, head: 0 } });
      position = { stream_created, sequence: 0, event_id: null };
    },
  };
};

const isAskedFor = (row: WebhookRow, query: WebhookQuery): boolean => {
  const created = new Date(row.created_at);
  return (
    row.org_id === query.org_id &&
    query.statuses.includes(statusOf(row.webhook)) &&
    (query.host === undefined || row.host === query.host) &&
    (query.createdAfter === undefined || created >= query.createdAfter) &&
    (query.createdBefore === undefined || created < query.createdBefore) &&
    (query.behind === undefined || newestFirst(query.behind, row) < 0)
  );
};

const newestFirst = (a: RowPlace, b: RowPlace): number =>
  b.number - a.number || (a.run_id < b.run_id ? 1 : a.run_id > b.run_id ? -1 : 0);
