import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';

const HOUR_S = 3_600;

const OVERLAPS = [
  [0, 'not at all: the present secret is known to somebody'],
  [HOUR_S, 'for an hour'],
  [24 * HOUR_S, 'for a day'],
  [7 * 24 * HOUR_S, 'for a week'],
] as const;

interface RotateDialogProps {
  readonly onRotated: (secret: Schemas['WebhookSecret']) => void;
  readonly onClose: () => void;
}

/** Asks before the secret is replaced, and for how long the present one stays good. */
export const RotateDialog = ({ onRotated, onClose }: RotateDialogProps): ReactNode => {
  const [overlap, setOverlap] = useState<number>(24 * HOUR_S);
  return (
    <ConfirmDialog
      title="Rotate the signing secret?"
      action="Rotate"
      onConfirm={async () => answered(api.POST('/webhooks/secret', { body: { overlap_s: overlap } }))}
      onDone={onRotated}
      onClose={onClose}
    >
      <p>
        A new secret is made and shown. For the overlap, each notification has two signatures, of the new and
        of the present secret, so a receiver that knows either accepts it. Give the new one to all receivers
        before the overlap ends: then those that only know the present secret refuse every notification. A
        secret before the present one stops to sign at once.
      </p>
      <label className="field">
        The present secret also signs
        <select value={overlap} onChange={({ target }) => setOverlap(Number(target.value))}>
          {OVERLAPS.map(([seconds, words]) => (
            <option value={seconds} key={seconds}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </ConfirmDialog>
  );
};
