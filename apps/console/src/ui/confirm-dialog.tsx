import type { ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface ConfirmDialogProps {
  /** A question. */
  readonly title: string;
  /** What the button does, as a verb. */
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  /** What will happen. */
  readonly children: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export const ConfirmDialog = (props: ConfirmDialogProps): ReactNode => {
  const { title, action, isPending, error, onConfirm, onClose, children } = props;
  return (
    <Dialog title={title} open onClose={onClose}>
      {children}
      {error && <Problem error={error} />}
      <div className="row">
        <button type="button" className="danger" disabled={isPending} onClick={onConfirm}>
          {action}
        </button>
        <button type="button" onClick={onClose}>
          Go back
        </button>
      </div>
    </Dialog>
  );
};
