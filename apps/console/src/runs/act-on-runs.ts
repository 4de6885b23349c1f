import { answered, api } from '../api/client.ts';
import { pagesOf } from '../api/pages-of.ts';
import { asRequested, type RunFilter } from './run-filter.ts';

export type BulkAction = 'cancel' | 'rerun';

interface Counted {
  readonly matched: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
  /** Just after the newest run; null when there is none. */
  readonly before: string | null;
}

/** What became of the runs so far. */
export interface Done {
  readonly done: number;
  readonly refused: number;
  /** Why it ended early, as a sentence. */
  readonly stopped?: string;
}

interface PageRequest {
  readonly filter: RunFilter & { readonly created_before?: string };
  readonly isDry: boolean;
  readonly cursor: string | undefined;
  readonly key: string | undefined;
  readonly signal?: AbortSignal;
}

interface Page {
  readonly matched: number;
  readonly done: number;
  readonly refused: number;
  readonly stopped: string | null;
  readonly before: string | null;
  readonly next_cursor: string | null;
}

/** A page has up to 1,000 runs. */
const MOST_PAGES_COUNTED = 20;

/** How many runs the action would concern now. Nothing is done. */
export const countRuns = async (
  action: BulkAction,
  filter: RunFilter,
  signal: AbortSignal,
): Promise<Counted> => {
  let [matched, before, counted]: [number, string | null, number] = [0, null, 0];
  const ask = { filter, isDry: true, key: undefined, signal };
  for await (const page of pagesOf((cursor) => PAGES[action]({ ...ask, cursor }))) {
    matched += page.matched;
    before ??= page.before;
    // A search has pages without runs.
    if (page.matched > 0) counted += 1;
    if (page.next_cursor !== null && counted === MOST_PAGES_COUNTED) return { matched, before, isMore: true };
  }
  return { matched, before: matched > 0 ? before : null, isMore: false };
};

interface Acting {
  /** Only runs that were created before. */
  readonly before: string;
  /** The same for each try. */
  readonly key: string;
  readonly onProgress: (done: Done) => void;
}

/** Cancels the runs, or queues them again, page by page. */
export const actOnRuns = async (action: BulkAction, filter: RunFilter, acting: Acting): Promise<Done> => {
  const { before, key, onProgress } = acting;
  let [done, refused] = [0, 0];
  const ask = { filter: { ...filter, created_before: before }, isDry: false, key };
  for await (const page of pagesOf((cursor) => PAGES[action]({ ...ask, cursor }))) {
    done += page.done;
    refused += page.refused;
    onProgress({ done, refused });
    if (page.stopped !== null) return { done, refused, stopped: STOPPED };
  }
  return { done, refused };
};

const STOPPED = 'The queue has no room for more now. Do the same later for those that are left.';

const PAGES: Readonly<Record<BulkAction, (request: PageRequest) => Promise<Page>>> = {
  cancel: async ({ filter, isDry, cursor, signal }) => {
    const answer = await answered(
      api.POST('/runs/cancel', {
        body: { filter: asRequested(filter), dry_run: isDry, ...(cursor !== undefined && { cursor }) },
        ...(signal && { signal }),
      }),
    );
    const { matched, cancelled, requested, failed, created_before, next_cursor } = answer;
    const done = cancelled + requested;
    return { matched, done, refused: failed, stopped: null, before: created_before, next_cursor };
  },
  rerun: async ({ filter, isDry, cursor, key, signal }) => {
    const answer = await answered(
      api.POST('/runs/rerun', {
        params: { header: key === undefined ? {} : { 'Idempotency-Key': key } },
        body: { filter: asRequested(filter), dry_run: isDry, ...(cursor !== undefined && { cursor }) },
        ...(signal && { signal }),
      }),
    );
    const refused = answer.refused.reduce((sum, { runs }) => sum + runs, 0);
    return {
      matched: answer.matched,
      done: answer.queued + answer.already_queued,
      refused,
      stopped: answer.stopped,
      before: answer.created_before,
      next_cursor: answer.next_cursor,
    };
  },
};
