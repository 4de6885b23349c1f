import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { MARKS, meaningOf, waitingWords, type Receiver } from './receiver-words.ts';

/** Every notifier is asked, so less often than other things that change. */
const EVERY_MS = 5_000;
/** Those in trouble come first; the deliveries below stay in sight. */
const SHOWN_AT_FIRST = 10;

/** The receivers of webhooks: which of them are tried now, what waits, and what went wrong last. */
export const Receivers = ({ host }: { readonly host: string | undefined }): ReactNode => {
  const [most, setMost] = useState(SHOWN_AT_FIRST);
  const { data, error, isPending } = useQuery({
    queryKey: ['receivers', host],
    queryFn: async ({ signal }) =>
      answered(
        api.GET('/webhooks/receivers', {
          params: { query: { ...(host !== undefined && { host }) } },
          signal,
        }),
      ),
    refetchInterval: EVERY_MS,
  });
  const all = data?.receivers ?? [];
  return (
    <section className="stack">
      <h2>Receivers</h2>
      <List
        what="receivers"
        columns={['Receiver', 'State', 'Waiting', 'Last success', 'Last failure', 'Deliveries']}
        empty={
          host === undefined
            ? 'No run has had a webhook lately.'
            : `No run has had a webhook at ${host} lately.`
        }
        rows={all.slice(0, most).map((receiver) => (
          <ReceiverRow key={receiver.origin} receiver={receiver} />
        ))}
        isPending={isPending}
        error={error}
        more={most < all.length ? () => setMost(all.length) : undefined}
      />
      <Missing complete={data?.complete ?? true} more={data?.more ?? false} />
    </section>
  );
};

const Missing = ({ complete, more }: { readonly complete: boolean; readonly more: boolean }): ReactNode => (
  <>
    {!complete && (
      <p className="notice warm" role="status">
        A notifier has not responded, so receivers may be missing here. It starts, takes over from another
        one, or is down.
      </p>
    )}
    {more && <p className="quiet">There are more receivers. Filter by host to see one that is not listed.</p>}
  </>
);

const ReceiverRow = ({ receiver }: { readonly receiver: Receiver }): ReactNode => {
  const { origin, host, state, next_probe_at, last_success_at, last_failure } = receiver;
  return (
    <tr>
      <th scope="row" className="mono breaks">
        {origin}
      </th>
      <td>
        <span className={`status ${MARKS[state]}`}>{state}</span>
        <div className="quiet">{meaningOf(receiver)}</div>
        {next_probe_at !== null && (
          <div className="quiet">
            next try <Ago time={next_probe_at} />
          </div>
        )}
      </td>
      <td>{waitingWords(receiver)}</td>
      <td>
        <Ago time={last_success_at} />
      </td>
      <td>
        {last_failure && (
          <>
            {last_failure.message}
            <div className="quiet">
              <Ago time={last_failure.at} />
            </div>
          </>
        )}
      </td>
      <td>
        <Link to="/webhooks" search={{ host }}>
          Show them<span className="visually-hidden">, of {origin}</span>
        </Link>
      </td>
    </tr>
  );
};
