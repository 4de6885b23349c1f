import type { ReactNode } from 'react';
import { Empty, Loading, Problem } from './problem.tsx';

export interface PagedProps {
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
