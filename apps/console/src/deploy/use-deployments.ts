import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { answered, api } from '../api/client.ts';
import { CATALOGUE_MS } from '../api/query-client.ts';
import type { Schemas } from '../api/schemas.ts';

/** Of a choice in a form. A page lists all of them. */
const MOST_LISTED = 100;

/** The newest deployments. */
export const useDeployments = (): UseQueryResult<Schemas['DeploymentPage']> =>
  useQuery({
    queryKey: ['deployments', 'newest'],
    queryFn: async ({ signal }) =>
      answered(api.GET('/deployments', { params: { query: { limit: MOST_LISTED } }, signal })),
    staleTime: CATALOGUE_MS,
  });
