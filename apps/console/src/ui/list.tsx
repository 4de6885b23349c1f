import type { ReactNode } from 'react';
import { Empty, Loading, Problem } from './problem.tsx';

interface ListProps {
  /** What it lists, in the plural. */
  readonly what: string;
  readonly columns: readonly string[];
  /** Rows of a table, each with its key. */
  readonly rows: readonly ReactNode[];
  readonly empty: ReactNode;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly more?: (() => void) | undefined;
}

/** A table of what the API lists, with its pages on demand. */
export const List = ({ what, columns, rows, empty, isPending, error, more }: ListProps): ReactNode => (
  <>
    {error && <Problem error={error} />}
    {isPending && <Loading what={what} />}
    {!isPending && !error && rows.length === 0 && <Empty>{empty}</Empty>}
    {rows.length > 0 && (
      <div className="scrolls" tabIndex={0} role="region" aria-label={what}>
        <table>
          <thead>
            <tr>
              {columns.map((title) => (
                <th scope="col" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{rows}</tbody>
        </table>
      </div>
    )}
    {more && (
      <div>
        <button type="button" onClick={more}>
          Show more
        </button>
      </div>
    )}
  </>
);
