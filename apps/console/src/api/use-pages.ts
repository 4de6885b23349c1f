import { useInfiniteQuery } from '@tanstack/react-query';
import { CATALOGUE_MS } from './query-client.ts';

export interface Pages<Page> {
  readonly pages: readonly Page[];
  readonly error: Error | null;
  readonly isPending: boolean;
  /** Undefined when all pages are there, or one is on its way. */
  readonly more: (() => void) | undefined;
}

/**
 * The pages of a list that people ask for one after the other. `key` begins with what the list is of; `read` gets what the query of the
 * page has, which is nothing for the first one.
 */
export const usePages = <Page extends { readonly next_cursor: string | null }>(
  key: readonly unknown[],
  read: (page: { readonly cursor?: string }, signal: AbortSignal) => Promise<Page>,
  refetchMs = CATALOGUE_MS,
): Pages<Page> => {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) =>
      read(pageParam === undefined ? {} : { cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }: Page) => next_cursor ?? undefined,
    refetchInterval: refetchMs,
  });
  const isMore = hasNextPage && !isFetchingNextPage;
  return {
    pages: data?.pages ?? [],
    error,
    isPending,
    more: isMore ? () => void fetchNextPage() : undefined,
  };
};
