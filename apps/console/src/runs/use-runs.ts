import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { answered, api } from '../api/client.ts';
import { LIVE_MS, SEARCHED_MS } from '../api/query-client.ts';
import { asRequested, type RunFilter } from './run-filter.ts';
import { rowOf, type RunRow } from './run-row.ts';
import { stoppedAt } from './search-text.ts';

const PAGE = 100;

interface Page {
  readonly rows: readonly RunRow[];
  readonly next: string | null;
  readonly searchedTo: string | null;
}

export interface VisibleRuns {
  readonly rows: readonly RunRow[];
  /** Undefined when all older runs are there, or some are on their way. */
  readonly more: (() => void) | undefined;
  /** When a search has stopped, which goes on for whoever wants it: all runs that were created after the time were looked at. */
  readonly further: { readonly to: string; readonly look: () => void } | undefined;
  readonly isLoading: boolean;
  readonly error: Error | null;
  /** Shows the newest first again, when more have come than the head of the list holds. */
  readonly newer: (() => void) | undefined;
}

/**
 * The runs of a filter, newest first. Those that were there when the page was opened are pages that nothing shifts; those that came
 * after are a page of their own that is read again and again. Of the others, pages in view with runs that have not ended are.
 * `seen`: the first and the last row in view.
 */
export const useRuns = (
  filter: RunFilter,
  seen: { readonly first: number; readonly last: number },
): VisibleRuns => {
  const key = JSON.stringify(filter);
  const [begun, setBegun] = useState({ key, since: now(), cursors: FIRST });
  if (begun.key !== key) setBegun({ key, since: now(), cursors: FIRST });
  const { since, cursors } = begun;
  const head = useQuery({
    queryKey: ['runs', 'head', filter, since],
    queryFn: async ({ signal }) => readPage({ ...filter, created_after: since }, undefined, signal),
    refetchInterval: LIVE_MS,
  });
  const newer = head.data?.rows.length ?? 0;
  const pages = useQueries({
    queries: cursors.map((cursor, index) => ({
      queryKey: ['runs', 'page', filter, since, cursor],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
        readPage({ ...filter, created_before: since }, cursor, signal),
      staleTime: Infinity,
      // A comparison of large pages takes longer than showing them.
      structuralSharing: false,
      refetchInterval: (query: { readonly state: { readonly data?: Page | undefined } }) =>
        isInView(newer + index * PAGE, seen) &&
        query.state.data?.rows.some(({ finished }) => !finished) === true
          ? filter.search === undefined
            ? LIVE_MS
            : SEARCHED_MS
          : (false as const),
    })),
    combine: combined,
  });
  const older = pages.rows.all;
  const rows = useMemo(() => [...(head.data?.rows ?? []), ...older], [head.data, older]);
  const { next, stopped } = pages;
  const look = next === null ? undefined : () => setBegun({ ...begun, cursors: [...cursors, next] });
  return {
    rows,
    more: stopped === undefined ? look : undefined,
    further: stopped === undefined || !look ? undefined : { to: stopped, look },
    isLoading: pages.isLoading,
    error: pages.error ?? head.error,
    newer:
      (head.data?.next ?? null) === null ? undefined : () => setBegun({ key, since: now(), cursors: FIRST }),
  };
};

const FIRST: readonly (string | undefined)[] = [undefined];

const now = (): string => new Date().toISOString();

const readPage = async (
  query: RunFilter & { readonly created_after?: string; readonly created_before?: string },
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page> => {
  const { runs, next_cursor, searched_to } = await answered(
    api.GET('/runs', {
      params: { query: { ...asRequested(query), ...(cursor !== undefined && { cursor }), limit: PAGE } },
      signal,
    }),
  );
  return { rows: runs.map(rowOf), next: next_cursor, searchedTo: searched_to ?? null };
};

/** `begin`: the first row of a page. */
const isInView = (
  begin: number,
  { first, last }: { readonly first: number; readonly last: number },
): boolean => last >= begin && first < begin + PAGE;

/** A class, into which the comparison of results does not look: it would compare every row with each page. */
class Rows {
  readonly all: readonly RunRow[];

  constructor(all: readonly RunRow[]) {
    this.all = all;
  }
}

interface Combined {
  readonly rows: Rows;
  readonly next: string | null;
  /** Of a search that stopped before it had filled the last page. */
  readonly stopped: string | undefined;
  readonly isLoading: boolean;
  readonly error: Error | null;
}

const combined = (pages: readonly UseQueryResult<Page>[]): Combined => {
  const last = pages.at(-1);
  return {
    rows: new Rows(pages.flatMap(({ data }) => data?.rows ?? [])),
    next: last?.data?.next ?? null,
    stopped: last?.data && stoppedAt({ ...last.data, size: PAGE }),
    isLoading: pages.some(({ isPending }) => isPending),
    error: pages.find(({ error }) => error !== null)?.error ?? null,
  };
};
