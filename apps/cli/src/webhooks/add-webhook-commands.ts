import { WebhookStatus } from '@runledger/contracts/http/runs/run-status';
import { Option } from 'commander';
import type { Command } from 'commander';
import { listDeliveries, showDeliveries } from './deliveries.ts';
import type { DeliveryListOptions } from './deliveries.ts';
import type { ListenOptions } from './listen/listen.ts';
import { listReceivers } from './receivers.ts';
import type { ReceiverOptions } from './receivers.ts';
import { redeliver } from './redeliver.ts';
import type { RedeliverOptions } from './redeliver.ts';
import { rotateWebhookSecret, showWebhookSecret } from './webhook-secret.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { Json, CommandContext } from '../command/command-context.ts';

/** Commands about notifications: delivery attempts, redelivery, a receiver for tests, and the signing secret. */
export const addWebhookCommands = (
  program: Command,
  { client, screen, untilInterrupted, end, add }: CommandContext,
): void => {
  add(
    program,
    'deliveries <run>',
    'show the delivery attempts of a run, and the state of the delivery',
  ).action(async (run: string, { json = false }: Json) =>
    end(await showDeliveries(await client(), run, json)),
  );
  const webhooks = addFilter(add(program, 'webhooks', 'list runs with a webhook, newest first'))
    .addOption(new Option('--status <status>', 'of the delivery').choices(WebhookStatus.enum))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: DeliveryListOptions) => end(await listDeliveries(await client(), options)));
  // Otherwise receivers would take the options of this list, and do nothing with them.
  webhooks.enablePositionalOptions();
  add(
    webhooks,
    'receivers',
    'list the receivers of webhooks: the state of their breakers, what waits, and the last failure',
  )
    .option('--host <host>', 'only at this host, with its port unless it is the default port')
    .action(async (options: ReceiverOptions) => end(await listReceivers(await client(), options)));
  addFilter(add(program, 'redeliver [run]', 'send a final notification again'))
    .option('--failed', 'all failed deliveries, instead of one run')
    .option('--dry-run', 'only count them')
    .action(async (run: string | undefined, options: RedeliverOptions) =>
      end(await redeliver(await client(), run, options)),
    );
  add(program, 'listen', 'receive notifications on this machine and check their signatures')
    .option('--port <port>', 'the port to listen on; 0 for a free one', '9000')
    .option('--secret <secret>', "the signing secret; the organisation's by default")
    .option('--answer <status>', 'the status to answer with, such as 503 to see retries', '200')
    .action(async (options: ListenOptions) => {
      const { listen } = await import('./listen/listen.ts');
      end(await listen({ client, screen, untilInterrupted }, options));
    });
  addSecretCommands(program, { client, end, add });
};

const addFilter = (command: Command): Command =>
  command
    .option('--host <host>', 'of the webhook, with its port unless it is the default port')
    .option('--created-after <time>', 'runs created at this time or later, such as 2026-05-01T12:00:00Z')
    .option('--created-before <time>', 'runs created before this time');

const addSecretCommands = (
  program: Command,
  { client, end, add }: Pick<CommandContext, 'client' | 'end' | 'add'>,
): void => {
  const webhookSecret = add(
    program,
    'webhook-secret',
    'show the signing secret of the organisation (needs a key with the scope admin)',
  ).action(async ({ json = false }: Json) => end(await showWebhookSecret(await client(), json)));
  webhookSecret
    .command('rotate')
    .description('make a new secret; the present one signs too for a while')
    .option('--overlap <time>', 'how long both sign, such as 12h; at most 7d, a day by default')
    .action(async ({ overlap }: { readonly overlap?: string }) => {
      // --json belongs to the parent command, wherever it is written.
      const { json = false }: Json = webhookSecret.opts();
      end(await rotateWebhookSecret(await client(), overlap, json));
    });
};
