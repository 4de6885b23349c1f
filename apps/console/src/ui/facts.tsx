import type { ReactNode } from 'react';

/** Names with their values, such as those of a record. */
export const Facts = ({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }): ReactNode => (
  <dl className="facts">
    {rows.map(([name, value]) => (
      <div key={name} style={{ display: 'contents' }}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
