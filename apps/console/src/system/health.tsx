import type { ReactNode } from 'react';
import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/schemas.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { counted, seconds } from '../ui/words.ts';

type Instance = Schemas['ServiceInstance'];

/** Whether each process is well, how far the views are, and what the executors do. */
export const Health = ({ system }: { readonly system: Schemas['System'] }): ReactNode => (
  <>
    <section className="stack">
      <h2>Services</h2>
      <List
        what="services"
        columns={['Service', 'Health', 'Role', 'Started', 'Version', 'Process']}
        empty="No process responded. What is not listed does not run, or cannot reach the broker."
        isPending={false}
        error={null}
        rows={system.instances.map((instance) => (
          <InstanceRow key={instance.instance} instance={instance} />
        ))}
      />
      <p className="quiet">A process that does not respond is left out: compare with what should run.</p>
    </section>
    <section className="panel" aria-label="Views and executors">
      <dl className="facts">
        <dt>Run views</dt>
        <dd>
          <Projection projection={system.projection} />
        </dd>
        <dt>Executors</dt>
        <dd>
          <Fleet executors={system.executors} /> <Link to="/fleet">Fleet</Link>
        </dd>
      </dl>
    </section>
  </>
);

const InstanceRow = ({ instance }: { readonly instance: Instance }): ReactNode => (
  <tr>
    <th scope="row">{instance.service}</th>
    <td>
      <span className={`status ${instance.ready ? 'success' : 'failed'}`}>
        {instance.ready ? 'ready' : 'not ready'}
      </span>
      {instance.problems.map(({ check, why }) => (
        <p key={check}>
          {check}: {why}
        </p>
      ))}
    </td>
    <td>{roleOf(instance)}</td>
    <td>
      <Ago time={instance.started_at} />
    </td>
    <td>{instance.software_version}</td>
    <td className="mono">{instance.instance}</td>
  </tr>
);

const roleOf = ({ service, leads, term, partitions, position }: Instance): string => {
  switch (service) {
    case 'scheduler':
      return leads === true ? `leads${term === null ? '' : `, term ${term}`}` : 'stands by';
    case 'gateway':
      return leads === true
        ? `keeps the views${position === null ? '' : `, to position ${position}`}`
        : 'reads the views';
    case 'notifier':
      return counted(partitions ?? 0, 'partition');
  }
};

const Projection = ({
  projection,
}: {
  readonly projection: Schemas['ProjectionState'] | null;
}): ReactNode => {
  if (projection === null) return 'This gateway does not know how far they are.';
  const { position, lag_messages, lag_seconds } = projection;
  if (lag_messages === 0) return `They have everything, to position ${position}.`;
  return `${counted(lag_messages, 'message')} behind${
    lag_seconds === null ? '' : `, ${seconds(lag_seconds)}`
  }; they have everything to position ${position}.`;
};

const Fleet = ({ executors }: { readonly executors: Schemas['FleetCounts'] | null }): ReactNode => {
  if (executors === null) return 'No scheduler responds.';
  const { ready, draining, unresponsive, absent, more } = executors;
  return `${ready} ready, ${draining} draining, ${unresponsive} unresponsive, ${absent} absent${
    more ? ', and more that were not counted.' : '.'
  }`;
};
