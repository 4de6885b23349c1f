import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../session/use-session.ts';
import { submitted } from '../ui/submitted.ts';
import { Deliveries } from './deliveries.tsx';
import { deliveryFilterIn, WEBHOOK_STATUSES, type DeliveryFilter } from './delivery-filter.ts';
import { Receivers } from './receivers.tsx';
import { RedeliverMany } from './redeliver-many.tsx';
import { SigningSecret } from './signing-secret.tsx';

const route = getRouteApi('/shell/webhooks');

/** The receivers of notifications, what became of these, and the secret that signs them. */
export const WebhooksPage = (): ReactNode => {
  const filter: DeliveryFilter = route.useSearch();
  const navigate = route.useNavigate();
  const [mayWrite, mayAdminister] = [useMay('runs:write'), useMay('admin')];
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Webhooks</h1>
        {mayWrite && <RedeliverMany filter={filter} />}
      </div>
      <Receivers host={filter.host} />
      <h2>Deliveries</h2>
      <Filter filter={filter} onChange={(search) => void navigate({ search, replace: true })} />
      <Deliveries filter={filter} mayWrite={mayWrite} />
      {mayAdminister && <SigningSecret />}
    </div>
  );
};

interface FilterProps {
  readonly filter: DeliveryFilter;
  readonly onChange: (filter: DeliveryFilter) => void;
}

const Filter = ({ filter, onChange }: FilterProps): ReactNode => (
  <div className="row" role="search" aria-label="Which deliveries are shown">
    <select
      aria-label="State"
      value={filter.status ?? ''}
      onChange={({ target }) => onChange(deliveryFilterIn({ ...filter, status: target.value }))}
    >
      <option value="">All states</option>
      {Object.entries(WEBHOOK_STATUSES).map(([status, words]) => (
        <option value={status} key={status}>
          {status}: {words}
        </option>
      ))}
    </select>
    <form
      className="row"
      onSubmit={(event) => onChange(deliveryFilterIn({ ...filter, host: submitted(event)('host') }))}
    >
      <input
        name="host"
        // A new one when the address of the page has another host.
        key={filter.host ?? ''}
        defaultValue={filter.host ?? ''}
        aria-label="Host of the receiver"
        placeholder="hooks.example.com"
      />
      <button type="submit">Filter by host</button>
    </form>
    {Object.keys(filter).length > 0 && (
      <button type="button" onClick={() => onChange({})}>
        Show all
      </button>
    )}
  </div>
);
