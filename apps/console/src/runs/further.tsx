import type { ReactNode } from 'react';
import { At } from '../ui/time.tsx';

interface FurtherProps {
  readonly isLoading: boolean;
  /** All runs that were created after this time were looked at. */
  readonly to: string;
  readonly onLook: () => void;
}

/** Says how far back a search has come, and goes on. */
export const Further = ({ isLoading, to, onLook }: FurtherProps): ReactNode => (
  <p className="notice">
    <span role="status">
      Searched back to <At time={to} />.
    </span>{' '}
    <button type="button" className="plain" disabled={isLoading} onClick={onLook}>
      Look further back
    </button>
  </p>
);
