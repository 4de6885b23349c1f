import type { ReactNode } from 'react';
import { Empty, Loading, Problem } from './problem.tsx';

interface PagedProps {
  /** What it lists, in the plural. */
  readonly what: string;
  readonly isEmpty: boolean;
  readonly empty: ReactNode;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly more?: (() => void) | undefined;
  /** Shown unless it is empty. */
  readonly children: ReactNode;
}

/** What the API lists, with its pages on demand, and in words what is on its way, missing or refused. */
export const Paged = ({ what, isEmpty, empty, isPending, error, more, children }: PagedProps): ReactNode => (
  <>
    {error && <Problem error={error} />}
    {isPending && <Loading what={what} />}
    {!isPending && !error && isEmpty && <Empty>{empty}</Empty>}
    {!isEmpty && children}
    {more && (
      <div>
        <button type="button" onClick={more}>
          Show more
        </button>
      </div>
    )}
  </>
);

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Its rows. */
  readonly children: ReactNode;
}

/** A table that scrolls sideways by itself where it is too wide. */
export const Table = ({ label, columns, children }: TableProps): ReactNode => (
  <div className="scrolls" tabIndex={0} role="region" aria-label={label}>
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
      <tbody>{children}</tbody>
    </table>
  </div>
);

interface ListProps extends Omit<PagedProps, 'isEmpty' | 'children'> {
  readonly columns: readonly string[];
  /** Rows of a table, each with its key. */
  readonly rows: readonly ReactNode[];
}

/** A table of what the API lists. */
export const List = ({ columns, rows, ...paged }: ListProps): ReactNode => (
  <Paged {...paged} isEmpty={rows.length === 0}>
    <Table label={paged.what} columns={columns}>
      {rows}
    </Table>
  </Paged>
);
