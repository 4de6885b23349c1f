import { WebhookStatus } from '@runledger/contracts/http/runs/run';
import { Option } from 'commander';
import type { Command } from 'commander';
import { listDeliveries, showDeliveries } from './deliveries.ts';
import type { DeliveryListOptions } from './deliveries.ts';
import { listen } from './listen/listen.ts';
import type { ListenOptions } from './listen/listen.ts';
import { redeliver } from './redeliver.ts';
import type { RedeliverOptions } from './redeliver.ts';
import { rotateWebhookSecret, showWebhookSecret } from './webhook-secret.ts';
import { USUAL_LIMIT } from '../command/list-pages.ts';
import type { Json, CommandContext } from '../command/command-context.ts';

/** The commands about notifications: what became of them, sending them again, trying them out, the signing secret. */
export const addWebhookCommands = (
  program: Command,
  { client, screen, untilInterrupted, end, add }: CommandContext,
): void => {
  add(program, 'deliveries <run>', 'each try to notify of a run, and where the delivery stands').action(
    async (run: string, { json = false }: Json) => end(await showDeliveries(await client(), run, json)),
  );
  addFilter(add(program, 'webhooks', 'list runs with a webhook, newest first'))
    .addOption(new Option('--status <status>', 'of the delivery').choices(WebhookStatus.enum))
    .option('--limit <number>', 'at most so many', USUAL_LIMIT)
    .action(async (options: DeliveryListOptions) => end(await listDeliveries(await client(), options)));
  addFilter(add(program, 'redeliver [run]', 'send a final notification again'))
    .option('--failed', 'all that were given up, instead of one run')
    .option('--dry-run', 'only count them')
    .action(async (run: string | undefined, options: RedeliverOptions) =>
      end(await redeliver(await client(), run, options)),
    );
  add(program, 'listen', 'receive notifications on this machine and check their signatures')
    .option('--port <port>', 'where; 0 takes a free one', '9000')
    .option('--secret <secret>', "what they are signed with; the organisation's own when left out")
    .option('--answer <status>', 'what they are answered with, such as 503 to see retries', '200')
    .action(async (options: ListenOptions) => end(await listen(client, options, screen, untilInterrupted())));
  addSecretCommands(program, { client, end, add });
};

const addFilter = (command: Command): Command =>
  command
    .option('--host <host>', 'of the webhook, with its port unless that is the usual one')
    .option('--created-after <time>', 'runs created at this time or later, such as 2026-05-01T12:00:00Z')
    .option('--created-before <time>', 'runs created before this time');

const addSecretCommands = (
  program: Command,
  { client, end, add }: Pick<CommandContext, 'client' | 'end' | 'add'>,
): void => {
  const webhookSecret = add(
    program,
    'webhook-secret',
    "show the secret that the organisation's webhooks are signed with (a key with the scope admin)",
  ).action(async ({ json = false }: Json) => end(await showWebhookSecret(await client(), json)));
  webhookSecret
    .command('rotate')
    .description('make a new one; the present one signs too for a while')
    .option('--overlap <time>', 'for so long, such as 12h; at most 7d, a day when left out')
    .action(async ({ overlap }: { readonly overlap?: string }) => {
      // Wherever it stands, --json belongs to the command above.
      const { json = false }: Json = webhookSecret.opts();
      end(await rotateWebhookSecret(await client(), overlap, json));
    });
};
