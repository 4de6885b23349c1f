import type { ReactNode } from 'react';
import { Refused } from '../api/refused.ts';

/** What went wrong, in the words of the service, with what its operator needs to find the request. */
export const Problem = ({
  error,
  retry,
}: {
  readonly error: Error;
  readonly retry?: () => void;
}): ReactNode => (
  <div className="notice bad" role="alert">
    <p>{error.message}</p>
    <p className="quiet">
      {error instanceof Refused ? (
        <>
          Code <code>{error.code}</code>
          {error.requestId !== undefined && (
            <>
              , request <code>{error.requestId}</code>
            </>
          )}
        </>
      ) : (
        error.name
      )}
    </p>
    {retry && (
      <button type="button" onClick={retry}>
        Try again
      </button>
    )}
  </div>
);

export const Loading = ({ what }: { readonly what: string }): ReactNode => (
  <p className="quiet" role="status">
    Loading {what} …
  </p>
);

/** Shown instead of a list without items. */
export const Empty = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <div className="panel quiet">{children}</div>
);
