import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { LIVE_MS } from '../api/query-client.ts';

/** Why a queued run waits, and when it will start. */
export const Waiting = ({ runId }: { readonly runId: string }): ReactNode => {
  const { data } = useQuery({
    queryKey: ['run', runId, 'waiting'],
    queryFn: async ({ signal }) =>
      answered(api.GET('/run/{run_id}/waiting', { params: { path: { run_id: runId } }, signal })),
    refetchInterval: LIVE_MS,
  });
  if (!data?.waiting) return null;
  const { sentence, eta_sentence } = data.waiting;
  return (
    <div className="notice warm" role="status">
      <h2>Why it waits</h2>
      <p>{sentence}</p>
      <p>{eta_sentence}</p>
    </div>
  );
};
