import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { useMay } from '../session/use-session.ts';

/** The members of the organisation, for those who may see them. */
export const useMembers = (): UseQueryResult<Schemas['MemberList']> =>
  useQuery({
    queryKey: ['members'],
    queryFn: async ({ signal }) => answered(api.GET('/members', { signal })),
    enabled: useMay('admin'),
  });
