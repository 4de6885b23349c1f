import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { usePages } from '../api/use-pages.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { NewDeployment } from './new-deployment.tsx';

/** What clients can run. */
export const DeploymentsPage = (): ReactNode => {
  const { pages, ...list } = usePages(['deployments'], async (page, signal) =>
    answered(api.GET('/deployments', { params: { query: page }, signal })),
  );
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Deployments</h1>
        <NewDeployment />
      </div>
      <List
        what="deployments"
        columns={['Name', 'Environment', 'GPU', 'Runs at once', 'Made', 'Runs']}
        empty="There is no deployment yet. One puts a version of a workflow on a machine: make these first, or let the command runledger deploy do all three."
        rows={pages
          .flatMap(({ deployments }) => deployments)
          .map(({ id, name, environment, gpu, concurrency_limit, archived, created_at }) => (
            <tr key={id}>
              <th scope="row">
                <Link to="/deployments/$deploymentId" params={{ deploymentId: id }}>
                  {name}
                </Link>{' '}
                {archived && <span className="tag">archived</span>}
              </th>
              <td>{environment}</td>
              <td>{gpu ?? 'of the machine'}</td>
              <td>{concurrency_limit ?? 'any number'}</td>
              <td>
                <Ago time={created_at} />
              </td>
              <td>
                <Link to="/runs" search={{ deployment_id: id }}>
                  Runs
                </Link>
              </td>
            </tr>
          ))}
        {...list}
      />
    </div>
  );
};
