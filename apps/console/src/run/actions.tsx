import type { Run } from '../api/schemas.ts';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { useMay } from '../session/use-session.ts';
import { Problem } from '../ui/problem.tsx';
import { CodeDialog } from './code-dialog.tsx';
import { RerunDialog } from './rerun-dialog.tsx';

/** What can be done with a run. */
export const Actions = ({ run }: { readonly run: Run }): ReactNode => {
  const mayWrite = useMay('runs:write');
  const [open, setOpen] = useState<'rerun' | 'code'>();
  const close = (): void => setOpen(undefined);
  const cancel = useMutation({
    mutationFn: async () =>
      answered(api.POST('/run/{run_id}/cancel', { params: { path: { run_id: run.id } } })),
  });
  return (
    <div className="row">
      {mayWrite && !run.finished && (
        <button
          type="button"
          className="danger"
          disabled={cancel.isPending || cancel.isSuccess}
          onClick={() => cancel.mutate()}
        >
          {cancel.isSuccess ? 'Cancel requested' : 'Cancel'}
        </button>
      )}
      {mayWrite && (
        <button type="button" onClick={() => setOpen('rerun')}>
          Run again …
        </button>
      )}
      <button type="button" onClick={() => setOpen('code')}>
        As code …
      </button>
      {cancel.error && <Problem error={cancel.error} />}
      <RerunDialog run={run} open={open === 'rerun'} onClose={close} />
      <CodeDialog run={run} open={open === 'code'} onClose={close} />
    </div>
  );
};
