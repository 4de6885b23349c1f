import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface ConfirmDialogProps<Result> {
  /** A question. */
  readonly title: string;
  /** What the button does, as a verb. */
  readonly action: string;
  /** Does it. Why it cannot is shown in the dialog. */
  readonly onConfirm: () => Promise<Result>;
  /** It is done; the dialog is closed when this is left out. */
  readonly onDone?: (result: Result) => void;
  readonly onClose: () => void;
  /** What will happen. */
  readonly children: ReactNode;
}

/** Asks before something is done that cannot be undone, and does it. */
export const ConfirmDialog = <Result,>(props: ConfirmDialogProps<Result>): ReactNode => {
  const { title, action, onConfirm, onDone, onClose, children } = props;
  // The result may be a secret, which is not kept.
  const confirmed = useMutation({ mutationFn: onConfirm, onSuccess: onDone ?? onClose, gcTime: 0 });
  return (
    <Dialog title={title} open onClose={onClose}>
      {children}
      {confirmed.error && <Problem error={confirmed.error} />}
      <div className="row">
        <button
          type="button"
          className="danger"
          disabled={confirmed.isPending}
          onClick={() => confirmed.mutate()}
        >
          {action}
        </button>
        <button type="button" onClick={onClose}>
          Go back
        </button>
      </div>
    </Dialog>
  );
};
