import { useState, type ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface DialogButtonProps {
  readonly title: string;
  /** What the button says, with three dots, since it asks for more; the title when it is left out. */
  readonly button?: string;
  /** What the dialog has; `close` closes it. */
  readonly children: (close: () => void) => ReactNode;
}

/** The main button of a page, and the dialog that it opens. */
export const DialogButton = ({ title, button = title, children }: DialogButtonProps): ReactNode => {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        {button} …
      </button>
      <Dialog title={title} open={open} onClose={close}>
        {children(close)}
      </Dialog>
    </>
  );
};
