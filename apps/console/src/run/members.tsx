import type { Run } from '../api/schemas.ts';
import type { ReactNode } from 'react';

interface MembersProps {
  readonly run: Run;
  /** Undefined while there is nothing to compare with. */
  readonly before: Run | undefined;
  readonly changed: ReadonlySet<string>;
}

/** Every member of a run as it was; those that differ from another moment have that value beside theirs, and a colour. */
export const Members = ({ run, before, changed }: MembersProps): ReactNode => {
  const former: Readonly<Record<string, unknown>> = before ?? {};
  return (
    <div className="members scrolls" tabIndex={0} role="region" aria-label="The run at this moment">
      <table>
        <thead>
          <tr>
            <th scope="col">Member</th>
            {before && <th scope="col">Compared</th>}
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(run)
            .toSorted(([one], [other]) => Number(changed.has(other)) - Number(changed.has(one)))
            .map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  {name}
                  {changed.has(name) && <span className="visually-hidden"> (changed)</span>}
                </th>
                {before && <td className="mono">{changed.has(name) ? valueWords(former[name]) : ''}</td>}
                <td className={changed.has(name) ? 'mono changed' : 'mono'}>{valueWords(value)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
};

const MOST_CHARACTERS = 300;

/** A value as JSON, cut where it is long. */
export const valueWords = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} …` : text;
};
