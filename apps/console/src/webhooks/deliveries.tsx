import { useMutation, type UseMutationResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { List } from '../ui/list.tsx';
import { Problem } from '../ui/problem.tsx';
import { Ago } from '../ui/time.tsx';
import { shortId } from '../ui/words.ts';
import type { DeliveryFilter, WebhookStatus } from './delivery-filter.ts';

type Delivery = Schemas['ListedDelivery'];

const SHAPES = {
  'not-started': 'queued',
  running: 'running',
  success: 'success',
  failed: 'failed',
} as const satisfies Record<WebhookStatus, string>;

interface DeliveriesProps {
  readonly filter: DeliveryFilter;
  readonly mayWrite: boolean;
}

/** The runs with a webhook, newest first, each with the outcome of its notifications. */
export const Deliveries = ({ filter: { status, host }, mayWrite }: DeliveriesProps): ReactNode => {
  const { pages, ...list } = usePages(['deliveries', status, host], async (page, signal) =>
    answered(
      api.GET('/webhooks/deliveries', {
        params: {
          query: {
            ...(status !== undefined && { status: [status] }),
            ...(host !== undefined && { host }),
            ...page,
          },
        },
        signal,
      }),
    ),
  );
  const redeliver = useRedeliver();
  return (
    <section className="stack">
      {redeliver.error && <Problem error={redeliver.error} />}
      {redeliver.isSuccess && (
        <p className="notice" role="status">
          The notification of run <span className="mono">{redeliver.variables}</span> is sent again.
        </p>
      )}
      <List
        what="deliveries"
        columns={['Run', 'State', 'Receiver', 'Tries', 'What happened', 'Last change', 'Actions']}
        empty={
          status === undefined && host === undefined
            ? 'No run has a webhook yet. A request may name one when it queues a run.'
            : 'No delivery matches what is chosen above.'
        }
        rows={pages
          .flatMap(({ deliveries }) => deliveries)
          .map((delivery) => (
            <DeliveryRow
              key={delivery.run_id}
              delivery={delivery}
              redeliver={mayWrite ? redeliver : undefined}
            />
          ))}
        {...list}
      />
    </section>
  );
};

interface DeliveryRowProps {
  readonly delivery: Delivery;
  /** Undefined for somebody who may not. */
  readonly redeliver: UseMutationResult<unknown, Error, string> | undefined;
}

const DeliveryRow = ({ delivery, redeliver }: DeliveryRowProps): ReactNode => {
  const { run_id, webhook_status, url, tries, round, message, updated_at } = delivery;
  return (
    <tr>
      <th scope="row" className="mono">
        <Link to="/runs/$runId" params={{ runId: run_id }} title={run_id}>
          {shortId(run_id)}
        </Link>
      </th>
      <td>
        <span className={`status ${SHAPES[webhook_status]}`}>{webhook_status}</span>
        <Next delivery={delivery} />
      </td>
      <td className="mono breaks">{url}</td>
      <td>
        {tries}
        {round > 1 && `, round ${round}`}
      </td>
      <td>{message}</td>
      <td>
        <Ago time={updated_at} />
      </td>
      <td>
        {redeliver && webhook_status === 'failed' && (
          <button type="button" disabled={redeliver.isPending} onClick={() => redeliver.mutate(run_id)}>
            Send it again<span className="visually-hidden">, of run {run_id}</span>
          </button>
        )}
      </td>
    </tr>
  );
};

const Next = ({ delivery: { state, next_try_at } }: { readonly delivery: Delivery }): ReactNode => {
  if (state === 'deferred')
    return <div className="quiet">waits until the receiver accepts notifications again</div>;
  if (next_try_at === null) return null;
  return (
    <div className="quiet">
      next try <Ago time={next_try_at} />
    </div>
  );
};

/** One of a row goes with the row, as soon as it is no failed one, so the list says the outcome. */
const useRedeliver = (): UseMutationResult<unknown, Error, string> =>
  useMutation({
    mutationFn: async (run_id: string) =>
      answered(api.POST('/run/{run_id}/redeliver', { params: { path: { run_id } } })),
  });
