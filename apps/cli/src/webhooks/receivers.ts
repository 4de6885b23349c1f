import { WebhookReceivers } from '@runledger/contracts/http/webhooks/receivers';
import type { Client } from '../api-client/client.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { plain, shorten } from '../output/plain-text.ts';
import { printTable } from '../output/table.ts';
import type { Column } from '../output/table.ts';

type Receiver = WebhookReceivers['receivers'][number];

const LONGEST = 160;

const columns: readonly Column<Receiver>[] = [
  { title: 'STATE', width: 8, is: 'status', of: ({ state }) => state },
  { title: 'WAITING', width: 7, of: ({ waiting }) => (waiting === null ? '?' : String(waiting)) },
  { title: 'FAILURES', width: 8, of: ({ failures_in_a_row }) => String(failures_in_a_row) },
  { title: 'NEXT PROBE', width: 24, is: 'time', of: ({ next_probe_at }) => next_probe_at },
  { title: 'HELD UP BY', width: 18, of: ({ held_up_by }) => held_up_by },
  { title: 'LAST SUCCESS', width: 24, is: 'time', of: ({ last_success_at }) => last_success_at },
  { title: 'RECEIVER', width: 32, of: ({ origin }) => origin },
  {
    title: 'LAST FAILURE',
    width: 0,
    of: ({ last_failure }) =>
      last_failure && `${last_failure.reason}: ${shorten(plain(last_failure.message), LONGEST)}`,
  },
];

export interface ReceiverOptions {
  readonly host?: string;
  readonly json?: boolean;
}

/** Lists the receivers of webhooks, those in trouble first. */
export const listReceivers = async (
  { call, screen }: Client,
  { host, json = false }: ReceiverOptions,
): Promise<ExitCode> => {
  const { receivers, more, complete } = await call(WebhookReceivers, {
    method: 'GET',
    path: '/webhooks/receivers',
    query: { host },
  });
  printTable(screen, columns, { items: receivers, json });
  if (receivers.length === 0 && complete)
    screen.hint('No receiver matches: no run has had a webhook lately.');
  if (more) screen.hint('There are more receivers. Use --host to see one that is not listed.');
  if (!complete)
    screen.hint(
      'A notifier did not respond, so receivers may be missing. Try again in a few seconds. To an operator, GET /system shows which processes respond.',
    );
  return EXIT.done;
};
