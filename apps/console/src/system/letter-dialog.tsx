import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/problem.tsx';
import { At } from '../ui/time.tsx';
import { bytes } from '../ui/words.ts';

interface LetterDialogProps {
  readonly letter: Schemas['DeadLetter'];
  readonly onClose: () => void;
}

/** Shows a dead letter with its content, and has it handled again. */
export const LetterDialog = ({ letter, onClose }: LetterDialogProps): ReactNode => {
  const redrive = useMutation({
    mutationFn: async () =>
      answered(api.POST('/dead-letters/{id}/redrive', { params: { path: { id: letter.id } } })),
  });
  const isTaken = redrive.data?.outcome === 'taken';
  return (
    <Dialog title={`Dead letter ${letter.id}`} open onClose={onClose}>
      <p>{letter.reason}</p>
      <Facts letter={letter} />
      <Content letter={letter} />
      <p>
        {letter.redriver === null
          ? 'No service handles such a message again. It stays until it expires or is removed.'
          : `The ${letter.redriver} handles it again with its present release. If that succeeds, the dead letter is removed. Nothing is handled twice.`}
      </p>
      {redrive.error && <Problem error={redrive.error} />}
      <p role="status">{redrive.data && `${redrive.data.outcome}: ${redrive.data.why}`}</p>
      <div className="row">
        {letter.redriver !== null && !isTaken && (
          <button
            type="button"
            className="primary"
            disabled={redrive.isPending}
            onClick={() => redrive.mutate()}
          >
            Redrive it
          </button>
        )}
        <button type="button" onClick={onClose}>
          {isTaken ? 'Close' : 'Go back'}
        </button>
      </div>
    </Dialog>
  );
};

const Facts = ({ letter }: { readonly letter: Schemas['DeadLetter'] }): ReactNode => (
  <dl className="facts">
    <dt>Consumer</dt>
    <dd>{letter.consumer}</dd>
    <dt>Stream</dt>
    <dd>
      {letter.stream}, position {letter.sequence}
    </dd>
    <dt>Subject</dt>
    <dd className="mono">{letter.subject}</dd>
    <dt>Stored</dt>
    <dd>
      <At time={letter.time} />
    </dd>
    {letter.run_id !== null && (
      <>
        <dt>Run</dt>
        <dd className="mono">{letter.run_id}</dd>
        <dt>Organisation</dt>
        <dd className="mono">{letter.org_id}</dd>
      </>
    )}
  </dl>
);

const Content = ({ letter }: { readonly letter: Schemas['DeadLetter'] }): ReactNode =>
  letter.content === null ? (
    <p className="quiet">The content was too large for a dead letter. It is in its stream.</p>
  ) : (
    <>
      <h3>
        Content, {letter.size_bytes !== null && bytes(letter.size_bytes)}
        {letter.content_truncated && ', of which this is the beginning'}
      </h3>
      <pre className="scrolls" tabIndex={0}>
        {letter.content}
      </pre>
    </>
  );
