import type { Run } from '../api/schemas.ts';
import type { ReactNode } from 'react';

/** What the run was given. */
export const Inputs = ({ run }: { readonly run: Run }): ReactNode => {
  const inputs = Object.entries((run.workflow_inputs ?? {}) as Readonly<Record<string, unknown>>);
  return (
    <section className="panel" aria-label="Inputs">
      <h2>Inputs</h2>
      {inputs.length === 0 && (
        <p className="quiet">{run.missing_members.length > 0 ? 'They are not kept any more.' : 'None.'}</p>
      )}
      <dl className="facts">
        {inputs.map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt className="mono">{name}</dt>
            <dd className="mono">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
};
