import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { Refused } from './refused.ts';

/** Of what changes by itself. */
export const LIVE_MS = 2_000;
/** Of what is found by looking through many runs. */
export const SEARCHED_MS = 10_000;
/** Of what people change. */
export const CATALOGUE_MS = 15_000;

const MOST_TRIES = 3;

/** What was refused stays refused; what could not be reached or was not available is tried again. */
const mayPass = (error: unknown): boolean =>
  !(error instanceof Refused) || error.status === 0 || error.status === 429 || error.status >= 500;

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    // Whoever is not signed in any more is told so at once.
    onError: (error) => {
      if (error instanceof Refused && error.status === 401)
        void queryClient.invalidateQueries({ queryKey: ['session'] });
    },
  }),
  mutationCache: new MutationCache({
    // Whatever was changed, what is shown follows.
    onSuccess: async () => queryClient.invalidateQueries(),
  }),
  defaultOptions: {
    queries: {
      staleTime: LIVE_MS / 2,
      retry: (failures, error) => failures < MOST_TRIES && mayPass(error),
      retryDelay: (failures) => Math.min(1_000 * 2 ** failures, 8_000),
      // The service may run on this machine, without a network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});
