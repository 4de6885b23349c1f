import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { LetterDialog } from './letter-dialog.tsx';
import { RemoveDialog } from './remove-dialog.tsx';

type DeadLetter = Schemas['DeadLetter'];

/** The messages that no consumer could handle. */
export const DeadLetters = (): ReactNode => {
  const [chosen, setChosen] = useState<{ readonly letter: DeadLetter; readonly to: 'look' | 'remove' }>();
  const close = (): void => setChosen(undefined);
  const { pages, ...list } = usePages(['dead-letters'], async (page, signal) =>
    answered(api.GET('/dead-letters', { params: { query: page }, signal })),
  );
  return (
    <section className="stack">
      <h2>Dead letters</h2>
      <p className="quiet">
        Messages that no consumer could handle, oldest first. Redrive one after its reason is gone, such as
        after a release that knows it.
      </p>
      <List
        what="dead letters"
        columns={['Id', 'Why', 'Consumer', 'Message', 'Stored', 'Actions']}
        empty="There is no dead letter: every message was handled."
        rows={pages
          .flatMap(({ dead_letters }) => dead_letters)
          .map((letter) => (
            <LetterRow
              key={letter.id}
              letter={letter}
              onLook={() => setChosen({ letter, to: 'look' })}
              onRemove={() => setChosen({ letter, to: 'remove' })}
            />
          ))}
        {...list}
      />
      {chosen?.to === 'look' && <LetterDialog letter={chosen.letter} onClose={close} />}
      {chosen?.to === 'remove' && <RemoveDialog letter={chosen.letter} onClose={close} />}
    </section>
  );
};

interface LetterRowProps {
  readonly letter: DeadLetter;
  readonly onLook: () => void;
  readonly onRemove: () => void;
}

const LetterRow = ({ letter, onLook, onRemove }: LetterRowProps): ReactNode => (
  <tr>
    <th scope="row">{letter.id}</th>
    <td>{letter.reason}</td>
    <td>{letter.consumer}</td>
    <td className="mono breaks">
      {letter.stream} {letter.sequence.toLocaleString('en')}
      <br />
      {letter.subject}
    </td>
    <td>
      <Ago time={letter.time} />
    </td>
    <td>
      <div className="row">
        <button type="button" onClick={onLook}>
          Show and redrive …<span className="visually-hidden"> dead letter {letter.id}</span>
        </button>
        <button type="button" className="danger" onClick={onRemove}>
          Remove …<span className="visually-hidden"> dead letter {letter.id}</span>
        </button>
      </div>
    </td>
  </tr>
);
