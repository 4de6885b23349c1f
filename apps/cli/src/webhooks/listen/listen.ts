import { once } from 'node:events';
import type { Client } from '../../api-client/client.ts';
import { EXIT, CommandError } from '../../output/command-error.ts';
import type { ExitCode } from '../../output/command-error.ts';
import { assertSecret, checkSignature } from './check-signature.ts';
import type { Checked } from './check-signature.ts';
import { header, notificationJson, notificationLine } from './describe-notification.ts';
import { fetchedSecrets, fixedSecret } from './known-secrets.ts';
import type { KnownSecrets } from './known-secrets.ts';
import { readWebhookSecret } from '../webhook-secret.ts';
import { openReceiver } from './receiver.ts';
import type { ReceivedRequest, Reply } from './receiver.ts';
import type { CommandContext } from '../../command/command-context.ts';
import { wholeNumberIn } from '../../options/numbers.ts';
import type { Screen } from '../../output/screen.ts';

const REFRESH_EVERY_MS = 1_000;

export interface ListenOptions {
  readonly port: string;
  readonly secret?: string;
  readonly answer: string;
  readonly json?: boolean;
}

/** Receives notifications until it is interrupted, and prints each with the result of its signature check. */
export const listen = async (
  { client, screen, untilInterrupted }: Pick<CommandContext, 'client' | 'screen' | 'untilInterrupted'>,
  { port, secret, answer, json = false }: ListenOptions,
): Promise<ExitCode> => {
  const interrupted = untilInterrupted();
  const wanted = wholeNumberIn('--port', port, { least: 0, most: 65_535 });
  const status = wholeNumberIn('--answer', answer, { least: 200, most: 599 });
  const secrets = secret === undefined ? secretsOf(client, screen) : fixedSecret(checkedSecret(secret));
  await secrets.refresh();

  const receive = async (received: ReceivedRequest): Promise<Reply> => {
    const at = new Date();
    const signature = await check(received, secrets, at);
    const reply = replyTo(signature, status);
    const notification = { at, received, signature, answered: reply.status };
    if (json) screen.printJson(notificationJson(notification));
    else screen.print(notificationLine(notification));
    return reply;
  };
  await using receiver = await open(wanted, receive);
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  screen.hint(`Listening at ${url}, until Ctrl-C. Try it with: runledger queue --webhook ${url}`);
  if (!interrupted.aborted) await once(interrupted, 'abort');
  return EXIT.done;
};

/** Reads the secrets again if no known secret fits. */
const check = async (received: ReceivedRequest, secrets: KnownSecrets, at: Date): Promise<Checked> => {
  const signed = {
    id: header(received, 'webhook-id'),
    timestamp: header(received, 'webhook-timestamp'),
    signature: header(received, 'webhook-signature'),
    body: received.body,
  };
  const first = checkSignature(signed, secrets.current(), at);
  if (first !== 'wrong' && first !== 'not checked') return first;
  await secrets.refresh();
  return checkSignature(signed, secrets.current(), at);
};

/** Refuses a request that the organisation's secret did not sign, as every receiver should. */
const replyTo = (signature: Checked, status: number): Reply => {
  switch (signature) {
    case 'right':
    case 'not checked':
      return { status, text: status < 300 ? 'Thank you.' : `Status ${status}, from --answer.` };
    case 'wrong':
      return { status: 401, text: 'The signature was not made with a known secret.' };
    case 'stale':
      return { status: 401, text: 'The signature is more than five minutes old, or ahead of the time.' };
    case 'unsigned':
      return {
        status: 401,
        text: 'The headers webhook-id, webhook-timestamp and webhook-signature are missing.',
      };
  }
};

const secretsOf = (client: () => Promise<Client>, screen: Screen): KnownSecrets => {
  let reported = false;
  return fetchedSecrets(
    async () => {
      const { secret, previous } = await readWebhookSecret(await client());
      return previous === null ? [secret] : [secret, previous.secret];
    },
    {
      everyMs: REFRESH_EVERY_MS,
      clock: () => performance.now(),
      onFailure: (error) => {
        if (!(error instanceof CommandError)) throw error;
        if (!reported)
          screen.hint(
            `Signatures are not checked until the secret is known. Use --secret to give one. ${error.message}`,
          );
        reported = true;
      },
    },
  );
};

const checkedSecret = (secret: string): string => {
  try {
    assertSecret(secret);
    return secret;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandError(
      `--secret cannot be used: ${error.message} Show it with: runledger webhook-secret`,
    );
  }
};

const open: typeof openReceiver = async (port, receive) => {
  try {
    return await openReceiver(port, receive);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const why = code === 'EADDRINUSE' ? 'another program uses it' : code;
    throw new CommandError(
      `The command cannot listen on port ${port} of 127.0.0.1: ${why}. Choose another port, such as --port 9001 (0 for a free one).`,
    );
  }
};
