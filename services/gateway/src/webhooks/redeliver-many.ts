import type { SortKey } from '../projection/core/sort-key.ts';
import type { RunViews, WebhookQuery } from '../projection/run-views.ts';
import pLimit from 'p-limit';
import type { RedeliverRun, Requester } from './redeliver-run.ts';

interface RedeliveredMany {
  /** Runs of this page: those that the filter fits, up to a number. */
  readonly matched: number;
  /** Those of them that are sent again; the others cannot be, or are no longer what the filter asks for. */
  readonly requested: number;
  /** Where the page ended; undefined when nothing follows it. */
  readonly end: SortKey | undefined;
}

export interface RedeliverManyOptions {
  readonly views: RunViews;
  readonly redeliver: RedeliverRun;
}

/** @throws {LogUnavailable} when a part of them may have been requested @throws {ViewsUnavailable} */
export type RedeliverMany = (
  which: Omit<WebhookQuery, 'limit'>,
  by: Requester,
  dryRun: boolean,
) => Promise<RedeliveredMany>;

const PAGE = 1_000;
const IN_FLIGHT = 16;

/**
 * The newest first. The views say which runs these are, and the log, which is ahead of them, whether each still is what
 * was asked for: a repeated request sends no run twice. A run that failed again meanwhile fits once more; a client that
 * follows the pages does not meet it again.
 */
export const redeliverMany =
  ({ views, redeliver }: RedeliverManyOptions): RedeliverMany =>
  async (which, by, dryRun) => {
    const { items, end } = await views.listWebhooks({ ...which, limit: PAGE });
    if (dryRun) return { matched: items.length, requested: 0, end };
    let requested = 0;
    const limit = pLimit(IN_FLIGHT);
    try {
      await limit.map(items, async ({ org_id, run_id }) => {
        const { kind } = await redeliver({ org_id, run_id }, by, which.statuses);
        if (kind === 'requested') requested += 1;
      });
    } finally {
      // After a failure no more are begun.
      limit.clearQueue();
    }
    return { matched: items.length, requested, end };
  };
