import type { ReactNode } from 'react';
import { At } from '../ui/time.tsx';
import { valueWords } from './members.tsx';
import type { Schemas } from '../api/schemas.ts';

export type HistoryFact = Schemas['RunHistoryFact'];

/** A fact: who wrote it and why, what it changed, and its raw form for those who may see that. */
export const Fact = ({
  fact,
  facts,
}: {
  readonly fact: HistoryFact;
  readonly facts: readonly HistoryFact[];
}): ReactNode => (
  <div className="stack">
    <p>{fact.sentence}</p>
    <dl className="facts">
      <dt>Position</dt>
      <dd className="mono">{fact.sequence}</dd>
      <dt>Stored</dt>
      <dd>
        <At time={fact.time} />
      </dd>
      <dt>Writer</dt>
      <dd>
        {fact.writer}
        {fact.executor !== null && `, about the executor ${fact.executor}`}
      </dd>
      <dt>Cause</dt>
      <dd>{causeWords(fact, facts)}</dd>
    </dl>
    <details open>
      <summary>What it changed</summary>
      {fact.changes === null && <p className="quiet">Unknown, because facts before it are missing.</p>}
      {fact.changes?.length === 0 && <p className="quiet">Nothing.</p>}
      <div className="scrolls" tabIndex={0} role="region" aria-label="Changes of this fact">
        <table>
          <tbody>
            {fact.changes?.map(({ member, before, after }) => (
              <tr key={member}>
                <th scope="row">{member}</th>
                <td className="mono">{valueWords(before)}</td>
                <td className="mono changed">{valueWords(after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
    <details>
      <summary>Raw form</summary>
      <pre>{JSON.stringify(fact.details ?? fact, undefined, 2)}</pre>
    </details>
  </div>
);

const causeWords = ({ cause }: HistoryFact, facts: readonly HistoryFact[]): string => {
  if (cause === null) return 'a request';
  if (cause.sequence === null) return 'a fact of another run';
  const number = facts.findIndex(({ sequence }) => sequence === cause.sequence) + 1;
  return `${number > 0 ? `fact ${number}, ` : ''}${cause.type ?? 'unknown'} at ${cause.sequence}`;
};
