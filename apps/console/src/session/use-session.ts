import { allows } from '@runledger/contracts/scopes';
import type { Schemas } from '../api/schemas.ts';
import {
  useMutation,
  useQuery,
  type QueryKey,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query';
import { answered, api } from '../api/client.ts';
import { queryClient } from '../api/query-client.ts';
import { forgetSessionToken } from '../api/session-token.ts';

export type Session = Schemas['Session'];
type Scope = Schemas['ApiKey']['scopes'][number];

const KEY = ['session'];
/** A session that has ended elsewhere, such as in another tab, is noticed within this time. */
const LOOK_EVERY_MS = 30_000;

/** Who is signed in, and for which organisation. */
export const useSession = (): UseQueryResult<Session> =>
  useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => answered(api.GET('/session', { signal })),
    refetchInterval: LOOK_EVERY_MS,
    refetchOnWindowFocus: 'always',
  });

/** Other tabs of the browser have the same session. */
const tabs = new BroadcastChannel('runledger-session');
tabs.addEventListener('message', () => void queryClient.invalidateQueries({ queryKey: KEY }));

const ofOthers = { predicate: ({ queryKey }: { readonly queryKey: QueryKey }) => queryKey[0] !== KEY[0] };

/** Shows this session, here and in other tabs. What another one had seen is forgotten. */
export const showSession = (session: Session): void => {
  queryClient.setQueryData(KEY, session);
  tabs.postMessage('changed');
  // When the pages of who is not signed in any more are gone.
  setTimeout(() => {
    queryClient.removeQueries({ ...ofOthers, type: 'inactive' });
    void queryClient.resetQueries(ofOthers);
  });
};

export const useSignOut = (): UseMutationResult<unknown, Error, void> =>
  useMutation({
    mutationFn: async () => {
      await answered(api.DELETE('/session'));
      forgetSessionToken();
      showSession(await answered(api.GET('/session')));
    },
  });

export const useChooseOrganisation = (): UseMutationResult<void, Error, string> =>
  useMutation({
    mutationFn: async (organisation_id) =>
      showSession(await answered(api.PATCH('/session', { body: { organisation_id } }))),
  });

/** Whether the role of the person permits what needs the scope. The service decides; pages leave out what it would refuse. */
export const useMay = (wanted: Scope): boolean => {
  const { data } = useSession();
  return allows(data?.organisation?.scopes ?? [], wanted);
};
