import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { counted } from '../ui/words.ts';
import type { DeliveryFilter } from './delivery-filter.ts';
import { redeliverPages, type Total } from './redeliver-pages.ts';

/** Of up to 1,000 runs each. What is beyond can be sent by asking again. */
const MOST_PAGES = 10;

/** A button, and a dialog that first counts what would be sent again. */
export const RedeliverMany = ({ filter }: { readonly filter: DeliveryFilter }): ReactNode => {
  const [open, setOpen] = useState(false);
  const { host } = filter;
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Send failed ones again …
      </button>
      <Dialog title="Send failed notifications again" open={open} onClose={close}>
        <Redelivery host={host} onClose={close} />
      </Dialog>
    </>
  );
};

interface RedeliveryProps {
  readonly host: string | undefined;
  readonly onClose: () => void;
}

const Redelivery = ({ host, onClose }: RedeliveryProps): ReactNode => {
  const [sent, setSent] = useState<Total>();
  const count = useQuery({
    queryKey: ['redelivery', host],
    queryFn: async () => redeliverPages(async (cursor) => send(host, cursor, true), MOST_PAGES),
    gcTime: 0,
  });
  const redeliver = useMutation({
    mutationFn: async () => redeliverPages(async (cursor) => send(host, cursor, false), MOST_PAGES, setSent),
  });
  const matched = count.data?.matched ?? 0;
  return (
    <>
      {count.isPending && !count.error && <Loading what="how many failed" />}
      {count.error && <Problem error={count.error} />}
      {count.data && !redeliver.isSuccess && <Matched total={count.data} host={host} />}
      {redeliver.error && <Problem error={redeliver.error} />}
      <p role="status">
        {sent && `${counted(sent.requested, 'notification is', 'notifications are')} sent again.`}
        {redeliver.data && redeliver.data.next !== null && ' There are more: close this, and ask again.'}
      </p>
      <div className="row">
        {matched > 0 && !redeliver.isSuccess && (
          <button
            type="button"
            className="primary"
            disabled={redeliver.isPending}
            onClick={() => redeliver.mutate()}
          >
            Send them again
          </button>
        )}
        <button type="button" onClick={onClose}>
          {redeliver.isSuccess ? 'Close' : 'Go back'}
        </button>
      </div>
    </>
  );
};

const Matched = ({
  total,
  host,
}: {
  readonly total: Total;
  readonly host: string | undefined;
}): ReactNode => (
  <p>
    {total.matched === 0
      ? 'No notification that was given up'
      : `${total.next === null ? '' : 'More than '}${counted(total.matched, 'notification was', 'notifications were')} given up`}
    {host === undefined ? ', of all receivers.' : `, of ${host}.`}
    {total.matched > 0 && ' Each is sent in a new round of tries, with the same webhook-id.'}
  </p>
);

const send = async (
  host: string | undefined,
  cursor: string | undefined,
  isDry: boolean,
): Promise<Schemas['RedeliverResponse']> =>
  answered(
    api.POST('/webhooks/redeliver', {
      body: {
        filter: { status: ['failed'], ...(host !== undefined && { host }) },
        ...(cursor !== undefined && { cursor }),
        dry_run: isDry,
      },
    }),
  );
