import { WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import { Option, type Command } from 'commander';
import { WebhookReceivers } from '@runledger/contracts/http/webhook-receivers';
import { listDeliveries, showDeliveries, redeliver } from './deliveries.ts';
import type { ListenOptions } from './listen.ts';
import { rotateWebhookSecret, showWebhookSecret } from './webhook-secret.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { CommandContext, Client } from '../command/command-context.ts';
import { plain, shorten } from '../command/command-error.ts';
import { printTable, type Column } from '../command/table.ts';

/** Commands about notifications: delivery attempts, redelivery, a receiver for tests, and the signing secret. */
export const addWebhookCommands = (program: Command, context: CommandContext): void => {
  const { withClient, withRun, add } = context;
  add(
    program,
    'deliveries <run>',
    'show the delivery attempts of a run, and the state of the delivery',
  ).action(withRun(showDeliveries));
  const webhooks = addFilter(add(program, 'webhooks', 'list runs with a webhook, newest first'))
    .addOption(new Option('--status <status>', 'of the delivery').choices(WebhookStatus.enum))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(withClient(listDeliveries));
  // Otherwise receivers would take the options of this list, and do nothing with them.
  webhooks.enablePositionalOptions();
  add(
    webhooks,
    'receivers',
    'list the receivers of webhooks: the state of their breakers, what waits, and the last failure',
  )
    .option('--host <host>', 'only at this host, with its port unless it is the default port')
    .action(withClient(listReceivers));
  addFilter(add(program, 'redeliver [run]', 'send a final notification again'))
    .option('--failed', 'all failed deliveries, instead of one run')
    .option('--dry-run', 'only count them')
    .action(withClient(redeliver));
  add(program, 'listen', 'receive notifications on this machine and check their signatures')
    .option('--port <port>', 'the port to listen on; 0 for a free one', '9000')
    .option('--secret <secret>', "the signing secret; the organisation's by default")
    .option('--answer <status>', 'the status to answer with, such as 503 to see retries', '200')
    .action(async (options: ListenOptions) => {
      const { listen } = await import('./listen.ts');
      await listen(context, options);
    });
  addSecretCommands(program, context);
};

const addFilter = (command: Command): Command =>
  command
    .option('--host <host>', 'of the webhook, with its port unless it is the default port')
    .option('--created-after <time>', 'runs created at this time or later, such as 2026-05-01T12:00:00Z')
    .option('--created-before <time>', 'runs created before this time');

const addSecretCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const webhookSecret = add(
    program,
    'webhook-secret',
    'show the signing secret of the organisation (needs a key with the scope admin)',
  ).action(withClient(showWebhookSecret));
  webhookSecret
    .command('rotate')
    .description('make a new secret; the present one signs too for a while')
    .option('--overlap <time>', 'how long both sign, such as 12h; at most 7d, a day by default')
    .action(withClient(rotateWebhookSecret));
};

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

/** Lists the receivers of webhooks, those in trouble first. */
const listReceivers = async (
  { call, screen }: Client,
  { host }: { readonly host?: string },
): Promise<void> => {
  const { receivers, more, complete } = await call(WebhookReceivers, {
    method: 'GET',
    path: '/webhooks/receivers',
    query: { host },
  });
  printTable(screen, columns, receivers);
  if (receivers.length === 0 && complete)
    screen.hint('No receiver matches: no run has had a webhook lately.');
  if (more) screen.hint('There are more receivers. Use --host to see one that is not listed.');
  if (!complete)
    screen.hint(
      'A notifier did not respond, so receivers may be missing. Try again in a few seconds. To an operator, GET /system shows which processes respond.',
    );
};
