import type { Run } from '../api/schemas.ts';
import { Table } from '../ui/list.tsx';
import type { ReactNode } from 'react';
import { API } from '../api/client.ts';
import { Lasted } from '../ui/time.tsx';

/** Each try to execute the run, with a picture of where its time went. */
export const Attempts = ({ run }: { readonly run: Run }): ReactNode => (
  <section className="panel" aria-label="Attempts">
    <h2>Attempts</h2>
    {run.attempts.length === 0 ? (
      <p className="quiet">None yet.</p>
    ) : (
      <>
        <img
          className="picture"
          // The time in the address makes the browser ask again when the run has changed.
          src={`${API}/run/${run.id}/history.svg#${run.updated_at}`}
          alt="When the run waited, loaded, worked, uploaded and notified, by attempt"
        />
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
