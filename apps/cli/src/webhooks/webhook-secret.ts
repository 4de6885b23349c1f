import { WebhookSecret } from '@runledger/contracts/http/webhook-receivers';
import type { Static } from 'typebox';
import type { Client } from '../command/command-context.ts';
import { EXIT, type ExitCode, plain } from '../command/command-error.ts';
import { secondsOf } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';
import { printRows } from '../command/table.ts';

type Secret = Static<typeof WebhookSecret>;

export const readWebhookSecret = ({ call }: Client): Promise<Secret> =>
  call(WebhookSecret, { method: 'GET', path: '/webhooks/secret' });

/** Shows the secret with which receivers verify webhooks. */
export const showWebhookSecret = async (client: Client, json: boolean): Promise<ExitCode> => {
  printSecret(client.screen, await readWebhookSecret(client), json);
  return EXIT.done;
};

/** Makes a new secret. `overlap` is the option: how long the present secret signs too. */
export const rotateWebhookSecret = async (
  { call, screen }: Client,
  overlap: string | undefined,
  json: boolean,
): Promise<ExitCode> => {
  const rotated = await call(WebhookSecret, {
    method: 'POST',
    path: '/webhooks/secret',
    body: { overlap_s: secondsOf('--overlap', overlap) },
  });
  printSecret(screen, rotated, json);
  screen.hint(
    rotated.previous === null
      ? 'Within seconds, webhooks are signed with the new secret only. Give it to their receivers.'
      : `Webhooks are signed with both secrets until ${plain(rotated.previous.expires_at)}. Give the new one to their receivers before.`,
  );
  return EXIT.done;
};

const printSecret = (screen: Screen, { secret, created_at, previous }: Secret, json: boolean): void => {
  if (json) return screen.printJson({ secret, created_at, previous });
  printRows(screen, [
    ['secret', secret],
    ['created', created_at, 'time'],
    ['previous', previous === null ? null : `${previous.secret} (until ${previous.expires_at})`],
  ]);
};
