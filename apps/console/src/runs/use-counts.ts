import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { answered, api } from '../api/client.ts';
import { LIVE_MS, SEARCHED_MS } from '../api/query-client.ts';
import type { Schemas } from '../api/schemas.ts';
import { asRequested, withMember, type RunFilter } from './run-filter.ts';

/** How many runs of the filter have each status, whichever statuses are chosen. */
export const useCounts = (filter: RunFilter): UseQueryResult<Schemas['RunCounts']> => {
  const all = withMember(filter, 'status', undefined);
  return useQuery({
    queryKey: ['runs', 'counts', all],
    queryFn: async ({ signal }) =>
      answered(api.GET('/runs/counts', { params: { query: asRequested(all) }, signal })),
    refetchInterval: filter.search === undefined ? LIVE_MS : SEARCHED_MS,
    placeholderData: (former) => former,
  });
};
