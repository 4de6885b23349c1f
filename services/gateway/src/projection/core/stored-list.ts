import type { Listed } from './page.ts';
import type { RunView } from './run-view.ts';
import { ROW_FIELDS, rowOf, VIEW_FIELDS, viewOf, type StoredRun } from './stored-run.ts';
import type { WebhookRow } from './webhook-row.ts';

/** What a list shows of each stored run. */
export interface StoredList<Item> {
  /** For errors. */
  readonly what: string;
  /** What `toItem` needs. */
  readonly fields: readonly (keyof StoredRun)[];
  readonly toItem: (stored: StoredRun) => Omit<Listed<Item>, 'sortKey'>;
}

export const RUN_LIST: StoredList<RunView> = {
  what: 'listing run views',
  fields: VIEW_FIELDS,
  // No list has a deleted run.
  toItem: (stored) => ({ item: viewOf(stored) as RunView, bytes: Buffer.byteLength(stored.run) }),
};

export const WEBHOOK_LIST: StoredList<WebhookRow> = {
  what: 'listing runs with a webhook',
  fields: ROW_FIELDS,
  toItem: (stored) => ({ item: rowOf(stored), bytes: 0 }),
};
