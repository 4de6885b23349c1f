import { answered, api } from '../../api/client.ts';
import { asRequested, type RunFilter } from '../run-filter.ts';

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
  readonly next: string | null;
}

/** A page has up to 1,000 runs. */
const MOST_PAGES_COUNTED = 20;

/** How many runs the action would concern now. Nothing is done. */
export const countRuns = async (
  action: BulkAction,
  filter: RunFilter,
  signal: AbortSignal,
): Promise<Counted> => {
  let [matched, before, cursor]: [number, string | null, string | undefined] = [0, null, undefined];
  // A search has pages without runs.
  for (let pages = 0; pages < MOST_PAGES_COUNTED;) {
    const read: Page = await PAGES[action]({ filter, isDry: true, cursor, key: undefined, signal });
    matched += read.matched;
    before ??= read.before;
    if (read.next === null) return { matched, before: matched > 0 ? before : null, isMore: false };
    if (read.matched > 0) pages += 1;
    cursor = read.next;
  }
  return { matched, before, isMore: true };
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
  let [done, refused, cursor]: [number, number, string | undefined] = [0, 0, undefined];
  for (;;) {
    const page: Page = await PAGES[action]({
      filter: { ...filter, created_before: before },
      isDry: false,
      cursor,
      key,
    });
    done += page.done;
    refused += page.refused;
    onProgress({ done, refused });
    if (page.stopped !== null) return { done, refused, stopped: STOPPED };
    if (page.next === null) return { done, refused };
    cursor = page.next;
  }
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
    return { matched, done, refused: failed, stopped: null, before: created_before, next: next_cursor };
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
      next: answer.next_cursor,
    };
  },
};
