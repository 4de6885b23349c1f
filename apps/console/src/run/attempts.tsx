import type { Run } from '../api/schemas.ts';
import { Table } from '../ui/list.tsx';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { Lasted } from '../ui/time.tsx';

/** Each try to execute the run, with a picture of where its time went. */
export const Attempts = ({ run }: { readonly run: Run }): ReactNode => (
  <section className="panel" aria-label="Attempts">
    <h2>Attempts</h2>
    {run.attempts.length === 0 ? (
      <p className="quiet">None yet.</p>
    ) : (
      <>
        <Picture run={run} />
        <Table label="Attempts as a table" columns={['Attempt', 'Where', 'Why there', 'Took', 'End']}>
          {run.attempts.map(
            ({ number, executor, gpu, placement, started_at, ended_at, end_reason, error }) => (
              <tr key={number}>
                <td>{number}</td>
                <td>
                  {executor} <span className="quiet">{gpu}</span>
                </td>
                <td>{placement?.sentence}</td>
                <td>{started_at !== null && <Lasted from={started_at} to={ended_at} />}</td>
                <td>
                  {end_reason} {error?.message}
                </td>
              </tr>
            ),
          )}
        </Table>
      </>
    )}
  </section>
);

/** Where the time went. It is read as a text, since the address of a picture would not send the session. */
const Picture = ({ run }: { readonly run: Run }): ReactNode => {
  const { data: svg } = useQuery({
    queryKey: ['run', run.id, 'picture', run.updated_at],
    queryFn: async ({ signal }) => {
      const params = { path: { run_id: run.id } };
      return answered(api.GET('/run/{run_id}/history.svg', { params, parseAs: 'text', signal }));
    },
    // Not that of another run.
    placeholderData: (former, query) => (query?.queryKey[1] === run.id ? former : undefined),
  });
  if (svg === undefined) return null;
  return (
    <img
      className="picture"
      src={`data:image/svg+xml,${encodeURIComponent(svg)}`}
      alt="When the run waited, loaded, worked, uploaded and notified, by attempt"
    />
  );
};
