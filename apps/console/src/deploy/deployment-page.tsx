import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { useMay } from '../session/use-session.ts';
import { Facts } from '../ui/facts.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { At } from '../ui/time.tsx';
import { seconds } from '../ui/words.ts';
import { TryForm } from './form/try-form.tsx';
import { DeployedVersions } from './versions/deployed-versions.tsx';
import { useVersion } from './versions/use-version.ts';

const route = getRouteApi('/shell/deployments/$deploymentId');

/** A deployment: how its runs are executed, and a form to try it. */
export const DeploymentPage = (): ReactNode => {
  const { deploymentId: deployment_id } = route.useParams();
  const { data: deployment, error } = useQuery({
    queryKey: ['deployment', deployment_id],
    queryFn: async ({ signal }) =>
      answered(api.GET('/deployments/{deployment_id}', { params: { path: { deployment_id } }, signal })),
  });
  if (error) return <Problem error={error} />;
  if (!deployment) return <Loading what="the deployment" />;
  return (
    <div className="stack">
      <div className="row apart">
        <h1>{deployment.name}</h1>
        <Link to="/runs" search={{ deployment_id }} className="button">
          Its runs
        </Link>
      </div>
      <Settings deployment={deployment} />
      <Try deployment={deployment} />
      <DeployedVersions deployment={deployment} />
    </div>
  );
};

const Settings = ({ deployment }: { readonly deployment: Schemas['Deployment'] }): ReactNode => {
  const {
    id,
    environment,
    gpu,
    labels,
    concurrency_limit,
    weight,
    run_timeout_s,
    start_deadline_s,
    retry,
    if_no_output,
  } = deployment;
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['Id', <code key="id">{id}</code>],
    [
      'Workflow',
      <Link key="workflow" to="/workflows/$workflowId" params={{ workflowId: deployment.workflow_id }}>
        versions
      </Link>,
    ],
    ['Environment', environment],
    ['GPU', gpu ?? 'that of the machine'],
    ['Labels', labels.length === 0 ? 'none' : labels.join(', ')],
    ['Runs at once', concurrency_limit === null ? 'any number' : String(concurrency_limit)],
    ['Weight', String(weight)],
    ['A run may take', seconds(run_timeout_s)],
    ['It must start within', seconds(start_deadline_s)],
    ['Attempts', String(retry.attempts)],
    ['Without an output', IF_NO_OUTPUT[if_no_output]],
    ['Made', <At key="made" time={deployment.created_at} />],
  ];
  return (
    <section className="panel" aria-label="Settings">
      <Facts rows={rows} />
    </section>
  );
};

const IF_NO_OUTPUT = {
  warn: 'a run succeeds, with a warning',
  error: 'a run fails',
  ignore: 'a run succeeds',
} as const;

const Try = ({ deployment }: { readonly deployment: Schemas['Deployment'] }): ReactNode => {
  const mayWrite = useMay('runs:write');
  const { data: version, error } = useVersion(deployment.workflow_id, deployment.workflow_version_id);
  if (!mayWrite) return null;
  return (
    <section className="panel" aria-label="Try it">
      <h2>Try it</h2>
      {deployment.archived && <p className="notice warm">It is archived, and accepts no runs.</p>}
      {error && <Problem error={error} />}
      {version && <TryForm deploymentId={deployment.id} inputs={version.inputs} key={version.id} />}
    </section>
  );
};
