import { Form, NameField } from '../ui/form.tsx';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { usePages } from '../api/use-pages.ts';
import { useMay } from '../session/use-session.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';

/** What deployments execute. */
export const WorkflowsPage = (): ReactNode => {
  const mayWrite = useMay('admin');
  const { pages, ...list } = usePages(['workflows'], async (page, signal) =>
    answered(api.GET('/workflows', { params: { query: page }, signal })),
  );
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Workflows</h1>
        {mayWrite && <DialogButton title="New workflow">{() => <WorkflowForm />}</DialogButton>}
      </div>
      <List
        what="workflows"
        columns={['Name', 'Made']}
        empty="There is no workflow yet."
        rows={pages
          .flatMap(({ workflows }) => workflows)
          .map(({ id, name, archived, created_at }) => (
            <tr key={id}>
              <th scope="row">
                <Link to="/workflows/$workflowId" params={{ workflowId: id }}>
                  {name}
                </Link>{' '}
                {archived && <span className="tag">archived</span>}
              </th>
              <td>
                <Ago time={created_at} />
              </td>
            </tr>
          ))}
        {...list}
      />
    </div>
  );
};

const WorkflowForm = (): ReactNode => {
  const navigate = useNavigate();
  const create = useMutation({
    mutationFn: async (name: string) => answered(api.POST('/workflows', { body: { name } })),
    onSuccess: async ({ id }) => navigate({ to: '/workflows/$workflowId', params: { workflowId: id } }),
  });
  return (
    <Form button="Make the workflow" sending={create} onSubmit={(text) => create.mutate(text('name'))}>
      <NameField />
    </Form>
  );
};
