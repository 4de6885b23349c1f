import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';

interface RemoveDialogProps {
  readonly letter: Schemas['DeadLetter'];
  readonly onClose: () => void;
}

/** Asks before a dead letter is removed without being handled. */
export const RemoveDialog = ({ letter, onClose }: RemoveDialogProps): ReactNode => (
  <ConfirmDialog
    title={`Remove dead letter ${letter.id}?`}
    action="Remove"
    onConfirm={async () =>
      answered(api.DELETE('/dead-letters/{id}', { params: { path: { id: letter.id } } }))
    }
    onClose={onClose}
  >
    <p>
      The {letter.consumer} will not handle it. This cannot be undone. The message itself stays in{' '}
      {letter.stream} until it expires there.
    </p>
  </ConfirmDialog>
);
