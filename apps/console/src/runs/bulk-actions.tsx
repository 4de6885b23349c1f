import { lazy, Suspense, useState, type ReactNode } from 'react';
import { useMay } from '../session/use-session.ts';
import type { RunFilter } from './run-filter.ts';
import type { BulkAction } from './act-on-runs.ts';

const BulkDialog = lazy(async () => ({ default: (await import('./bulk-dialog.tsx')).BulkDialog }));

/** What can be done with all runs that are shown. */
export const BulkActions = ({ filter }: { readonly filter: RunFilter }): ReactNode => {
  const mayWrite = useMay('runs:write');
  const [action, setAction] = useState<BulkAction>();
  if (!mayWrite) return null;
  return (
    <div className="row">
      <button type="button" onClick={() => setAction('cancel')}>
        Cancel all of these …
      </button>
      <button type="button" onClick={() => setAction('rerun')}>
        Run all of these again …
      </button>
      {action && (
        <Suspense>
          <BulkDialog action={action} filter={filter} onClose={() => setAction(undefined)} />
        </Suspense>
      )}
    </div>
  );
};
