import { useState, type ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface DialogButtonProps {
  /** Of the dialog. The button has it with three dots, since it asks for more. */
  readonly title: string;
  /** What the dialog has; `close` closes it. */
  readonly children: (close: () => void) => ReactNode;
}

/** The main button of a page, and the dialog that it opens. */
export const DialogButton = ({ title, children }: DialogButtonProps): ReactNode => {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        {title} …
      </button>
      <Dialog title={title} open={open} onClose={close}>
        {children(close)}
      </Dialog>
    </>
  );
};
