import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { Health } from './health.tsx';
import { Leaders } from './leaders.tsx';
import { Storage } from './storage.tsx';

/** Each look asks every process, so it is not as often as for runs. */
const LOOK_EVERY_MS = 5_000;

/** How the services are, for whoever operates them. */
export const SystemPage = (): ReactNode => {
  const { data, error } = useQuery({
    queryKey: ['system'],
    queryFn: async ({ signal }) => answered(api.GET('/system', { signal })),
    refetchInterval: LOOK_EVERY_MS,
  });
  return (
    <div className="stack">
      <h1>System</h1>
      {error && <Problem error={error} />}
      {!data && !error && <Loading what="the state of the services" />}
      {data && <Processes system={data} />}
      <DeadLetters />
      {data && <Storage system={data} />}
    </div>
  );
};

const Processes = ({ system }: { readonly system: Schemas['System'] }): ReactNode => (
  <>
    {!system.complete && (
      <p className="notice warm" role="status">
        Not everything responded in time: {system.did_not_respond.join(', ')}. What is shown may lack it.
      </p>
    )}
    {system.untrusted_proxy !== null && (
      <p className="notice warm" role="status">
        {system.untrusted_proxy} sent X-Forwarded-For and is no trusted proxy, so all who come through it
        count as one client. If it is your proxy, name it in RUNLEDGER_TRUSTED_PROXIES.
      </p>
    )}
    <Health system={system} />
    <Leaders system={system} />
  </>
);
