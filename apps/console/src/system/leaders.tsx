import type { ReactNode } from 'react';
import type { Schemas } from '../api/schemas.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';

/** Who holds which lease. */
export const Leaders = ({ system }: { readonly system: Schemas['System'] }): ReactNode => (
  <section className="stack">
    <h2>Leaders</h2>
    <List
      what="leaders"
      columns={['Lease', 'Held by', 'Renewed']}
      empty="Nobody holds a lease."
      isPending={false}
      error={null}
      rows={system.leaders.map(({ lease, holder, renewed_at }) => (
        <tr key={lease}>
          <th scope="row">{lease}</th>
          <td className="mono">{holder}</td>
          <td>
            <Ago time={renewed_at} />
          </td>
        </tr>
      ))}
    />
  </section>
);
