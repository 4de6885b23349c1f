import type { Run, Schemas } from '../api/schemas.ts';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Table } from '../ui/list.tsx';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { LIVE_MS } from '../api/query-client.ts';
import { Problem } from '../ui/problem.tsx';
import { At } from '../ui/time.tsx';

/** What became of the notifications of the run, with each try. */
export const Deliveries = ({ run }: { readonly run: Run }): ReactNode => {
  const path = { run_id: run.id };
  const { data, error } = useQuery({
    queryKey: ['run', run.id, 'deliveries', run.webhook_status],
    queryFn: async ({ signal }) =>
      answered(api.GET('/run/{run_id}/deliveries', { params: { path }, signal })),
    refetchInterval: run.webhook_status === 'success' ? false : LIVE_MS,
  });
  const redeliver = useMutation({
    mutationFn: async () => answered(api.POST('/run/{run_id}/redeliver', { params: { path } })),
  });
  return (
    <section className="panel" aria-label="Webhook deliveries">
      <div className="row apart">
        <h2>Webhook deliveries</h2>
        <button
          type="button"
          disabled={!run.finished || redeliver.isPending}
          onClick={() => redeliver.mutate()}
        >
          Send it again
        </button>
      </div>
      {redeliver.error && <Problem error={redeliver.error} />}
      {redeliver.isSuccess && <p role="status">It is sent again; the tries appear below.</p>}
      {error && <Problem error={error} />}
      {data && data.message !== null && <p className="notice warm">{data.message}</p>}
      {data && <Tries tries={[...(data.intermediate ? [data.intermediate] : []), ...data.tries]} />}
    </section>
  );
};

const Tries = ({ tries }: { readonly tries: readonly Schemas['DeliveryAttempt'][] }): ReactNode =>
  tries.length === 0 ? (
    <p className="quiet">Nothing was sent yet.</p>
  ) : (
    <Table label="Tries" columns={['When', 'Try', 'To', 'Outcome']}>
      {tries.map(({ webhook_id, round, try: number, started_at, url, message, status, answer }) => (
        <tr key={`${webhook_id} ${round} ${number}`}>
          <td>
            <At time={started_at} />
          </td>
          <td>
            {number}
            {round > 1 && `, round ${round}`}
          </td>
          <td className="mono">{url}</td>
          <td>
            {status} {message}
            {answer !== null && <pre>{answer}</pre>}
          </td>
        </tr>
      ))}
    </Table>
  );
