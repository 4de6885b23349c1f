import type { RunViews, WebhookQuery } from '../views/run-views.ts';
import type { RedeliverRun, Requester } from './redeliver-run.ts';

interface RedeliveredMany {
  /** Runs that the filter fits. */
  readonly matched: number;
  /** Those of them that are sent again; the others cannot be, or are no longer what the filter asks for. */
  readonly requested: number;
  /** There are others, which were left as they are. */
  readonly more: boolean;
}

export interface RedeliverManyOptions {
  readonly views: RunViews;
  readonly redeliver: RedeliverRun;
}

/** @throws {LogUnavailable} when a part of them may have been requested @throws {ViewsUnavailable} */
export type RedeliverMany = (
  which: Omit<WebhookQuery, 'limit' | 'behind'>,
  by: Requester,
  dryRun: boolean,
) => Promise<RedeliveredMany>;

const MOST_AT_ONCE = 1_000;
const IN_FLIGHT = 16;

/**
 * The newest first. The views say which runs these are, and the log, which is ahead of them, whether each still is what
 * was asked for: asked again at once, no run is sent twice.
 */
export const redeliverMany =
  ({ views, redeliver }: RedeliverManyOptions): RedeliverMany =>
  async (which, by, dryRun) => {
    const rows = await views.listWebhooks({ ...which, limit: MOST_AT_ONCE + 1 });
    const more = rows.length > MOST_AT_ONCE;
    const matched = Math.min(rows.length, MOST_AT_ONCE);
    if (dryRun) return { matched, requested: 0, more };
    const waiting = rows.slice(0, MOST_AT_ONCE).values();
    const work = async (): Promise<number> => {
      let requested = 0;
      for (const { org_id, run_id } of waiting) {
        const { kind } = await redeliver({ org_id, run_id }, by, which.statuses);
        if (kind === 'requested') requested += 1;
      }
      return requested;
    };
    const done = await Promise.all(Array.from({ length: IN_FLIGHT }, work));
    return { matched, requested: done.reduce((sum, part) => sum + part, 0), more };
  };
