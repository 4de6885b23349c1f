import type { ReactNode } from 'react';
import { Paged, type PagedProps } from './paged.tsx';

interface ListProps extends Omit<PagedProps, 'isEmpty' | 'children'> {
  readonly columns: readonly string[];
  /** Rows of a table, each with its key. */
  readonly rows: readonly ReactNode[];
}

/** A table of what the API lists. */
export const List = ({ columns, rows, ...paged }: ListProps): ReactNode => (
  <Paged {...paged} isEmpty={rows.length === 0}>
    <div className="scrolls" tabIndex={0} role="region" aria-label={paged.what}>
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
  </Paged>
);
