import type { Run } from '../api/schemas.ts';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Refused } from '../api/refused.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { Actions } from './actions.tsx';
import { Attempts } from './attempts.tsx';
import { Deliveries } from './deliveries.tsx';
import { Graph } from './graph.tsx';
import { Inputs } from './inputs.tsx';
import { Logs } from './logs.tsx';
import { Outputs } from './outputs.tsx';
import { Summary } from './summary.tsx';
import { TimeTravel } from './time-travel.tsx';
import { useRun, useRunAt } from './use-run.ts';
import { Waiting } from './waiting.tsx';
import './run-page.css';

const route = getRouteApi('/shell/runs/$runId');

/** Everything about a run: as it is, or as it was after one of its facts. */
export const RunPage = (): ReactNode => {
  const { runId } = route.useParams();
  const { at } = route.useSearch();
  const live = useRun(runId);
  const past = useRunAt(runId, at);
  if (live.error && !live.data) return <NoRun error={live.error} runId={runId} />;
  if (!live.data) return <Loading what="the run" />;
  const run = at === undefined ? live.data : past.data;
  return (
    <div className="stack">
      <div className="row apart">
        <h1>
          Run #{live.data.number} <span className="mono quiet">{runId}</span>
        </h1>
        <Actions run={live.data} />
      </div>
      <TimeTravel run={live.data} />
      {past.error && <Problem error={past.error} />}
      {run ? <Shown run={run} isPast={at !== undefined} /> : <Loading what="the run as it was" />}
    </div>
  );
};

const Shown = ({ run, isPast }: { readonly run: Run; readonly isPast: boolean }): ReactNode => (
  <>
    {run.error && (
      <div className="notice bad">
        <h2>Why it {run.status === 'failed' ? 'failed' : 'ended'}</h2>
        <p className="mono">{run.error.message}</p>
        <p className="quiet">
          {run.error.kind}
          {run.error.node !== undefined && `, in node ${run.error.node}`}
          {run.error.exit_code !== undefined && `, exit status ${run.error.exit_code}`}
          {run.error.signal !== undefined && `, ended by ${run.error.signal}`}
          {run.error.retryable
            ? '; another attempt may succeed'
            : '; another attempt would fail the same way'}
        </p>
      </div>
    )}
    {!isPast && run.status === 'queued' && <Waiting runId={run.id} />}
    <div className="run-columns">
      <div className="stack">
        <Outputs run={run} />
        <Graph run={run} />
        <Logs run={run} until={isPast ? run.updated_at : undefined} />
        <Attempts run={run} />
        {run.webhook !== null && <Deliveries run={run} />}
      </div>
      <div className="stack">
        <Summary run={run} />
        <Inputs run={run} />
      </div>
    </div>
  </>
);

const NoRun = ({ error, runId }: { readonly error: Error; readonly runId: string }): ReactNode => (
  <div className="stack">
    <h1>Run {runId}</h1>
    <Problem error={error} />
    {error instanceof Refused && error.status === 404 && (
      <p>
        It may be a run of another organisation, or one that was deleted. <Link to="/runs">All runs</Link>
      </p>
    )}
  </div>
);
