import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { counted } from '../ui/words.ts';
import type { RunFilter } from './run-filter.ts';
import { actOnRuns, countRuns, type BulkAction, type Done } from './act-on-runs.ts';

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly filter: RunFilter;
  readonly onClose: () => void;
}

const TITLES: Readonly<Record<BulkAction, string>> = { cancel: 'Cancel runs', rerun: 'Run again' };

/** Does something with all runs of the filter, after it was counted for how many. */
export const BulkDialog = ({ action, filter, onClose }: BulkDialogProps): ReactNode => {
  // Whoever tries again does not queue the same runs twice.
  const [key] = useState(() => crypto.randomUUID());
  const [progress, setProgress] = useState<Done>();
  const count = useQuery({
    queryKey: ['bulk', action, filter, key],
    queryFn: async ({ signal }) => countRuns(action, filter, signal),
    staleTime: Infinity,
    gcTime: 0,
  });
  const [done, setDone] = useState<Done>();
  if (done)
    return (
      <Dialog title={TITLES[action]} open onClose={onClose}>
        <p role="status">{doneWords(action, done)}</p>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </Dialog>
    );
  const { data } = count;
  if (!data || data.before === null)
    return (
      <Dialog title={TITLES[action]} open onClose={onClose}>
        {count.error && <Problem error={count.error} />}
        {count.isPending && <Loading what="the number of runs" />}
        {data && <p>No run of the filter can be {action === 'cancel' ? 'cancelled' : 'run again'} now.</p>}
      </Dialog>
    );
  const { before, matched, isMore } = data;
  return (
    <ConfirmDialog
      title={TITLES[action]}
      action={action === 'cancel' ? 'Cancel them' : 'Queue them'}
      onConfirm={async () => actOnRuns(action, filter, { before, key, onProgress: setProgress })}
      onDone={setDone}
      onClose={onClose}
    >
      <p>
        {isMore && 'More than '}
        {counted(matched, 'run')} of the filter{' '}
        {action === 'cancel' ? 'would be cancelled' : 'would be queued again with the same inputs'}. Runs that
        came since are left out.
      </p>
      {progress && <p role="status">{doneWords(action, progress)} So far.</p>}
    </ConfirmDialog>
  );
};

const doneWords = (action: BulkAction, { done, refused, stopped }: Done): string =>
  [
    `${counted(done, 'run')} ${action === 'cancel' ? 'cancelled' : 'queued again'}.`,
    refused > 0 ? `${counted(refused, 'run')} could not be.` : '',
    stopped ?? '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
