import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Problem } from '../ui/problem.tsx';
import { At } from '../ui/time.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

type Secret = Schemas['WebhookSecret'];

/** The secret of the organisation, which is read only when somebody asks to see it. */
export const SigningSecret = (): ReactNode => {
  const [isRotating, setRotating] = useState(false);
  const [secret, setSecret] = useState<Secret>();
  // Each look is in the audit log, so it is no query, which would look by itself.
  const show = useMutation({
    mutationFn: async () => answered(api.GET('/webhooks/secret')),
    onSuccess: setSecret,
    gcTime: 0,
  });
  return (
    <section className="panel stack" aria-label="Signing secret">
      <h2>Signing secret</h2>
      <p>
        Receivers verify with it that a notification comes from this organisation, as in Standard Webhooks.
        Who knows it can forge one.
      </p>
      {show.error && <Problem error={show.error} />}
      {secret && <Shown secret={secret} />}
      <div className="row">
        {secret ? (
          <button type="button" onClick={() => setSecret(undefined)}>
            Hide it
          </button>
        ) : (
          <button type="button" disabled={show.isPending} onClick={() => show.mutate()}>
            Show it
          </button>
        )}
        <button type="button" className="danger" onClick={() => setRotating(true)}>
          Rotate it …
        </button>
      </div>
      <p className="quiet">The audit log records who showed it, and who rotated it.</p>
      {isRotating && (
        <RotateDialog
          onRotated={(rotated) => {
            setSecret(rotated);
            setRotating(false);
          }}
          onClose={() => setRotating(false)}
        />
      )}
    </section>
  );
};

const Shown = ({ secret: { secret, created_at, previous } }: { readonly secret: Secret }): ReactNode => (
  <div className="stack">
    <div>
      <p>
        Since <At time={created_at} />:
      </p>
      <pre tabIndex={0}>{secret}</pre>
    </div>
    <div>
      <CopyButton text={secret} label="Copy the secret" />
    </div>
    {previous && (
      <div>
        <p>
          The previous one also signs until <At time={previous.expires_at} />:
        </p>
        <pre tabIndex={0}>{previous.secret}</pre>
      </div>
    )}
  </div>
);
