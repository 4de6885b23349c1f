import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { answered, api } from '../../api/client.ts';
import type { Schemas } from '../../api/schemas.ts';

/** A version of a workflow, with the workflow itself. It never changes. */
export const useVersion = (
  workflow_id: string,
  version_id: string | undefined,
): UseQueryResult<Schemas['WorkflowVersion']> =>
  useQuery({
    queryKey: ['version', workflow_id, version_id ?? null],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/workflows/{workflow_id}/versions/{version_id}', {
          params: { path: { workflow_id, version_id: version_id ?? '' } },
          signal,
        }),
      ),
    enabled: version_id !== undefined,
    staleTime: Infinity,
  });
