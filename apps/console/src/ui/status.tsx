import type { Schemas } from '../api/schemas.ts';
import type { ReactNode } from 'react';

/** The status of a run: its word with a shape, so that no colour has to be seen. */
export const Status = ({ status }: { readonly status: Schemas['RunStatus'] }): ReactNode => (
  <span className={`status ${status}`}>{status}</span>
);
