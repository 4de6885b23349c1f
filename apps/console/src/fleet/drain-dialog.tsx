import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { counted } from '../ui/words.ts';

interface DrainDialogProps {
  readonly executor: Schemas['Executor'];
  readonly onClose: () => void;
}

/** Asks before an executor gets no more runs, or gets runs again. */
export const DrainDialog = ({ executor: { name, drain, slots }, onClose }: DrainDialogProps): ReactNode => {
  const isDrained = drain !== null;
  const params = { path: { name } };
  const runs = slots.filter(({ run }) => run !== null).length;
  return (
    <ConfirmDialog
      title={isDrained ? `Resume ${name}?` : `Drain ${name}?`}
      action={isDrained ? 'Resume' : 'Drain'}
      onConfirm={async () =>
        isDrained
          ? answered(api.POST('/executors/{name}/resume', { params }))
          : answered(api.POST('/executors/{name}/drain', { params }))
      }
      onClose={onClose}
    >
      {isDrained ? (
        <p>It gets runs again, unless it is stopping.</p>
      ) : (
        <p>
          It gets no new runs until it is resumed, also after a restart.{' '}
          {runs === 0 ? 'It executes none now.' : `${counted(runs, 'run')} in its slots will go on.`}
        </p>
      )}
    </ConfirmDialog>
  );
};
