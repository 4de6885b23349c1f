import { getRouteApi } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { Empty, Loading, Problem } from '../ui/problem.tsx';
import { counted } from '../ui/words.ts';
import { Activity } from './activity.tsx';
import { BulkActions } from './bulk-actions.tsx';
import { FilterBar, StatusChoice } from './filter-bar.tsx';
import type { RunFilter } from './run-filter.ts';
import { Further } from './further.tsx';
import { RunsTable } from './runs-table.tsx';
import { useCounts } from './use-counts.ts';
import { useRuns } from './use-runs.ts';

const route = getRouteApi('/shell/runs');

/** What runs, what waits, and what has ended. */
export const RunsPage = (): ReactNode => {
  const filter: RunFilter = route.useSearch();
  const navigate = route.useNavigate();
  const [seen, setSeen] = useState({ first: 0, last: 0 });
  const { rows, more, further, isLoading, error, newer } = useRuns(filter, seen);
  const counts = useCounts(filter);
  const choose = (search: RunFilter): void => void navigate({ search, replace: true });
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Runs</h1>
        <FilterBar filter={filter} onChange={choose} />
      </div>
      <Activity />
      <div className="row apart">
        <StatusChoice filter={filter} onChange={choose} counts={counts.data} />
        <BulkActions filter={filter} />
      </div>
      {error && <Problem error={error} />}
      {newer && (
        <p className="notice">
          Many runs have come since this page was opened.{' '}
          <button type="button" className="plain" onClick={newer}>
            Show the newest
          </button>
        </p>
      )}
      {rows.length > 0 && <RunsTable rows={rows} more={more} onSeen={setSeen} />}
      {rows.length === 0 && isLoading && <Loading what="runs" />}
      {rows.length === 0 && !isLoading && !error && !further && (
        <NoRuns isFiltered={Object.keys(filter).length > 0} />
      )}
      {further && <Further isLoading={isLoading} to={further.to} onLook={further.look} />}
      <p className="quiet" role="status">
        {rows.length > 0 &&
          `${counted(rows.length, 'run')} loaded${further ? '' : more ? '; scroll for older ones' : ', which are all'}`}
      </p>
    </div>
  );
};

const NoRuns = ({ isFiltered }: { readonly isFiltered: boolean }): ReactNode => (
  <Empty>
    {isFiltered
      ? 'No run matches what is chosen above.'
      : 'There is no run yet. Queue one from a deployment, or with the API.'}
  </Empty>
);
