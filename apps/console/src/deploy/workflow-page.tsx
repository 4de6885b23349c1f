import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages, type Pages } from '../api/use-pages.ts';
import { useMay } from '../session/use-session.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { List } from '../ui/list.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { bytes } from '../ui/words.ts';
import { VersionDiff } from './versions/version-diff.tsx';
import { VersionForm } from './versions/version-form.tsx';
import { VersionView } from './versions/version-view.tsx';

const route = getRouteApi('/shell/workflows/$workflowId');

/** A workflow: its versions, one of them shown, and the difference of two. */
export const WorkflowPage = (): ReactNode => {
  const { workflowId: workflow_id } = route.useParams();
  const { version, compared } = route.useSearch();
  const mayWrite = useMay('admin');
  const { workflow, versions, list } = useWorkflow(workflow_id);
  const idOf = (wanted: number | undefined): string | undefined =>
    versions.find(({ number }) => number === wanted)?.id;
  if (workflow.error) return <Problem error={workflow.error} />;
  if (!workflow.data) return <Loading what="the workflow" />;
  const shown = idOf(version) ?? versions[0]?.id;
  const other = idOf(compared);
  return (
    <div className="stack">
      <div className="row apart">
        <h1>{workflow.data.name}</h1>
        {mayWrite && (
          <DialogButton title="New version">
            {(close) => <VersionForm workflowId={workflow_id} onMade={close} />}
          </DialogButton>
        )}
      </div>
      <List
        what="versions"
        columns={['Version', 'Made', 'Size', 'Show', 'Compare with']}
        empty="It has no version yet."
        rows={versions.map((each) => (
          <VersionRow
            key={each.id}
            version={each}
            isVisible={each.id === shown}
            isCompared={each.id === other}
          />
        ))}
        {...list}
      />
      {shown !== undefined && other === undefined && (
        <VersionView workflowId={workflow_id} versionId={shown} />
      )}
      {shown !== undefined && other !== undefined && (
        <VersionDiff workflowId={workflow_id} olderId={other} newerId={shown} />
      )}
    </div>
  );
};

interface WithVersions {
  readonly workflow: UseQueryResult<Schemas['Workflow']>;
  readonly versions: readonly Schemas['ListedWorkflowVersion'][];
  readonly list: Omit<Pages<unknown>, 'pages'>;
}

const useWorkflow = (workflow_id: string): WithVersions => {
  const path = { workflow_id };
  const workflow = useQuery({
    queryKey: ['workflow', workflow_id],
    queryFn: async ({ signal }) =>
      answered(api.GET('/workflows/{workflow_id}', { params: { path }, signal })),
  });
  const { pages, ...list } = usePages(['versions', workflow_id], async (page, signal) =>
    answered(
      api.GET('/workflows/{workflow_id}/versions', {
        params: { path, query: page },
        signal,
      }),
    ),
  );
  return { workflow, versions: pages.flatMap((page) => page.versions), list };
};

interface VersionRowProps {
  readonly version: Schemas['ListedWorkflowVersion'];
  readonly isVisible: boolean;
  readonly isCompared: boolean;
}

const VersionRow = ({ version, isVisible, isCompared }: VersionRowProps): ReactNode => {
  const navigate = route.useNavigate();
  const { number, created_at, archived } = version;
  return (
    <tr>
      <th scope="row">
        {number} {archived && <span className="tag">archived</span>}
      </th>
      <td>
        <Ago time={created_at} />
      </td>
      <td>{bytes(version.bytes)}</td>
      <td>
        <input
          type="radio"
          name="shown"
          aria-label={`Show version ${number}`}
          checked={isVisible}
          onChange={() =>
            void navigate({ search: (former) => ({ ...former, version: number }), replace: true })
          }
        />
      </td>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare with version ${number}`}
          checked={isCompared}
          disabled={isVisible}
          onChange={() =>
            void navigate({
              search: ({ version: shown }) => ({
                ...(shown !== undefined && { version: shown }),
                ...(!isCompared && { compared: number }),
              }),
              replace: true,
            })
          }
        />
      </td>
    </tr>
  );
};
