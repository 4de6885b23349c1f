import { rowLines } from '../command/table.ts';
import { WebhookSecret } from '@runledger/contracts/http/webhook-receivers';
import type { Static } from 'typebox';
import type { Client } from '../command/command-context.ts';
import { plain } from '../command/command-error.ts';
import { secondsOf } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

type Secret = Static<typeof WebhookSecret>;

export const readWebhookSecret = ({ call }: Client): Promise<Secret> =>
  call(WebhookSecret, { method: 'GET', path: '/webhooks/secret' });

/** Shows the secret with which receivers verify webhooks. */
export const showWebhookSecret = async (client: Client): Promise<void> =>
  printSecret(client.screen, await readWebhookSecret(client));

/** Makes a new secret. `overlap`: how long the present secret signs too. */
export const rotateWebhookSecret = async (
  { call, screen }: Client,
  { overlap }: { readonly overlap?: string },
): Promise<void> => {
  const rotated = await call(WebhookSecret, {
    method: 'POST',
    path: '/webhooks/secret',
    body: { overlap_s: secondsOf('--overlap', overlap) },
  });
  printSecret(screen, rotated);
  screen.hint(
    rotated.previous === null
      ? 'Within seconds, webhooks are signed with the new secret only. Give it to their receivers.'
      : `Webhooks are signed with both secrets until ${plain(rotated.previous.expires_at)}. Give the new one to their receivers before.`,
  );
};

const printSecret = (screen: Screen, { secret, created_at, previous }: Secret): void =>
  screen.result({ secret, created_at, previous }, () =>
    rowLines(screen, [
      ['secret', secret],
      ['created', created_at, 'time'],
      ['previous', previous === null ? null : `${previous.secret} (until ${previous.expires_at})`],
    ]),
  );
