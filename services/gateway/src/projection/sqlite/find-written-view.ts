import type { DatabaseSync } from 'node:sqlite';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { StoredView } from '../core/run-view.ts';
import { VIEW_FIELDS, viewOf, type StoredRun } from '../core/stored-run.ts';
import { orUnavailable } from './open-database.ts';
import type { RecentViews } from './recent-views.ts';

type ViewRow = Pick<StoredRun, (typeof VIEW_FIELDS)[number]>;

/** A view as the file has it. @throws {ViewsUnavailable} */
export const findWrittenView = (
  database: DatabaseSync,
  recent: RecentViews,
): ((key: RunKey) => StoredView | undefined) => {
  const one = database.prepare(
    `SELECT ${VIEW_FIELDS.join(', ')} FROM run_views WHERE run_id = ? AND org_id = ?`,
  );
  const readRow = (key: RunKey): StoredView | undefined => {
    const row = one.get(key.run_id, key.org_id) as unknown as ViewRow | undefined;
    if (!row) {
      recent.setAbsent(key);
      return undefined;
    }
    const view = viewOf(row);
    recent.set(view, row.run.length + (row.webhook?.length ?? 0));
    return view;
  };
  return (key) => {
    const known = recent.get(key);
    if (known !== undefined) return known ?? undefined;
    return orUnavailable('reading a run view', () => readRow(key));
  };
};
