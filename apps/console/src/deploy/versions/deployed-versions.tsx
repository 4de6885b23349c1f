import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../../api/client.ts';
import type { Schemas } from '../../api/schemas.ts';
import { usePages } from '../../api/use-pages.ts';
import { useMay } from '../../session/use-session.ts';
import { List } from '../../ui/list.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';

interface DeployedVersionsProps {
  readonly deployment: Schemas['Deployment'];
}

/** The versions that a deployment has had or can have, and which one new runs get. */
export const DeployedVersions = ({ deployment }: DeployedVersionsProps): ReactNode => {
  const { id: deployment_id, workflow_id, workflow_version_id: used } = deployment;
  const mayWrite = useMay('admin');
  const client = useQueryClient();
  const { pages, ...list } = usePages(['versions', workflow_id], async (page, signal) =>
    answered(
      api.GET('/workflows/{workflow_id}/versions', {
        params: { path: { workflow_id }, query: page },
        signal,
      }),
    ),
  );
  const use = useMutation({
    mutationFn: async (workflow_version_id: string) =>
      answered(
        api.PATCH('/deployments/{deployment_id}', {
          params: { path: { deployment_id } },
          body: { workflow_version_id },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: ['deployment', deployment_id] }),
  });
  const rows = pages.flatMap(({ versions }) => versions).filter(({ archived }) => !archived);
  return (
    <div className="stack">
      <h2>Versions</h2>
      {use.error && <Problem error={use.error} />}
      <List
        what="versions"
        columns={['Version', 'Made', 'Code', 'Commit', 'What is new', 'New runs']}
        empty="It has no version."
        rows={rows.map(({ id, number, created_at, code, commit, message }) => (
          <tr key={id}>
            <th scope="row">{number}</th>
            <td>
              <Ago time={created_at} />
            </td>
            <td>{code && <code>{code.sha256.slice(0, 12)}</code>}</td>
            <td>{commit && <code>{commit.replace(/^([0-9a-f]{7})[0-9a-f]*/, '$1')}</code>}</td>
            <td>{message}</td>
            <td>
              {id === used ? (
                <span className="tag">get this one</span>
              ) : (
                mayWrite && (
                  <button type="button" disabled={use.isPending} onClick={() => use.mutate(id)}>
                    Use version {number}
                  </button>
                )
              )}
            </td>
          </tr>
        ))}
        {...list}
      />
    </div>
  );
};
