import { once } from 'node:events';
import { timingSafeEqual } from 'node:crypto';
import { signedHeaders } from '@runledger/webhooks/signature';
import { DOCUMENTED_WEBHOOK_HEADERS } from '@runledger/contracts/deliveries/webhook-headers';
import { parseJson } from '@runledger/contracts/json';
import { WebhookPayload } from '@runledger/contracts/deliveries/webhook-payload';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { codeOf } from '@runledger/resilience/errors';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, plain, shorten } from '../command/command-error.ts';
import { readWebhookSecret } from './webhook-secret.ts';
import { openReceiver, type ReceivedRequest, type Reply } from './receiver.ts';
import { wholeNumberIn } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

const REFRESH_EVERY_MS = 1_000;

export interface ListenOptions {
  readonly port: string;
  readonly secret?: string;
  readonly answer: string;
}

/** Receives notifications until it is interrupted, and prints each with the result of its signature check. */
export const listen = async (
  { client, screen, untilInterrupted }: CommandContext,
  { port, secret, answer }: ListenOptions,
): Promise<void> => {
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
    screen.result(notificationJson(notification), () => notificationLine(notification));
    return reply;
  };
  await using receiver = await open(wanted, receive);
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  screen.hint(`Listening at ${url}, until Ctrl-C. Try it with: runledger queue --webhook ${url}`);
  if (!interrupted.aborted) await once(interrupted, 'abort');
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
    const code = codeOf(error);
    const why = code === 'EADDRINUSE' ? 'another program uses it' : code;
    throw new CommandError(
      `The command cannot listen on port ${port} of 127.0.0.1: ${why}. Choose another port, such as --port 9001 (0 for a free one).`,
    );
  }
};

/** The secrets that signatures are checked with. */
interface KnownSecrets {
  readonly current: () => readonly string[];
  /** Reads the secrets again, at most once in a while. */
  readonly refresh: () => Promise<void>;
}

const fixedSecret = (secret: string): KnownSecrets => ({
  current: () => [secret],
  refresh: async () => undefined,
});

/** Secrets from the service. They may change, and the service may start later. */
const fetchedSecrets = (
  read: () => Promise<readonly string[]>,
  {
    onFailure,
    everyMs,
    clock,
  }: {
    readonly onFailure: (error: unknown) => void;
    readonly everyMs: number;
    readonly clock: () => number;
  },
): KnownSecrets => {
  let known: readonly string[] = [];
  let reading: Promise<void> | undefined;
  let readAt = -Infinity;
  const readNow = async (): Promise<void> => {
    readAt = clock();
    try {
      known = await read();
    } catch (error) {
      onFailure(error);
    } finally {
      reading = undefined;
    }
  };
  return {
    current: () => known,
    refresh: async () => {
      if (reading === undefined && clock() - readAt < everyMs) return;
      reading ??= readNow();
      await reading;
    },
  };
};

/** `stale`: signed correctly, but more than five minutes ago or ahead, so that it may be a replay. */
type Checked = 'right' | 'wrong' | 'stale' | 'unsigned' | 'not checked';

/** From Standard Webhooks: a receiver accepts no older timestamp. */
const TOLERANCE_S = 300;

interface Signed {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  /** The bytes as received. */
  readonly body: Uint8Array;
}

/** Whether one of the secrets made one of the signatures. */
const checkSignature = (
  { id, timestamp, signature, body }: Signed,
  secrets: readonly string[],
  now: Date,
): Checked => {
  if (id === undefined || timestamp === undefined || signature === undefined) return 'unsigned';
  if (secrets.length === 0) return 'not checked';
  const at = readTimestamp(timestamp);
  if (at === undefined) return 'wrong';
  const given = signature.split(' ');
  const expected = expectedSignatures({ id, at, body }, secrets);
  if (!given.some((one) => expected.some((other) => isSame(one, other)))) return 'wrong';
  return Math.abs(now.getTime() - at.getTime()) > TOLERANCE_S * 1_000 ? 'stale' : 'right';
};

/** @throws TypeError that describes a valid secret, without quoting this one */
const assertSecret = (secret: string): void =>
  void signedHeaders({ id: 'x', at: new Date(0), body: new Uint8Array(), secrets: [secret] });

const readTimestamp = (text: string): Date | undefined =>
  /^\d{1,12}$/.test(text) ? new Date(Number(text) * 1_000) : undefined;

/** Empty for an invalid id. */
const expectedSignatures = (
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: Uint8Array },
  secrets: readonly string[],
): string[] => {
  try {
    return signedHeaders({ id, at, body, secrets })['webhook-signature'].split(' ');
  } catch (error) {
    if (error instanceof TypeError) return [];
    throw error;
  }
};

const isSame = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
};

/** Only the number of outputs is shown. No error is: one of a later release may be of another kind. */
const ShownPayload = Type.Object({
  ...Type.Omit(WebhookPayload, ['outputs', 'error', 'attempts']).properties,
  outputs: Type.Array(Type.Unknown()),
});

const LONGEST = 160;

interface Notification {
  readonly at: Date;
  readonly received: ReceivedRequest;
  readonly signature: Checked;
  /** The status of the answer. */
  readonly answered: number;
}

/** One line for a person. */
const notificationLine = ({ at, received, signature, answered }: Notification): string =>
  [
    at.toISOString(),
    shorten(plain(received.path), LONGEST),
    payloadWords(received.body),
    signatureWords(signature),
    `answered ${answered}`,
    shorten(plain(header(received, 'webhook-id') ?? ''), LONGEST),
  ]
    .join('  ')
    .trimEnd();

/** All of it for a program. */
const notificationJson = ({ at, received, signature, answered }: Notification): object => ({
  received_at: at.toISOString(),
  path: received.path,
  headers: Object.fromEntries(
    DOCUMENTED_WEBHOOK_HEADERS.map(({ name }) => [name, header(received, name) ?? null]),
  ),
  signature,
  answered,
  body: parseJson(received.body.toString('utf8')) ?? received.body.toString('utf8'),
});

/** Undefined also for a header that was sent twice. */
const header = ({ headers }: ReceivedRequest, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

const payloadWords = (body: Buffer): string => {
  const payload = parseJson(body.toString('utf8'));
  if (!Value.Check(ShownPayload, payload))
    return `not a notification: ${shorten(plain(body.toString('utf8', 0, LONGEST * 4)), LONGEST)}`;
  const { run_id, status, progress, live_status, finished, outputs, end_reason, warnings = [] } = payload;
  if (!finished)
    return `run ${run_id} ${status} ${Math.floor(progress * 100)} % ${shorten(plain(live_status ?? ''), 40)}`.trimEnd();
  return `run ${run_id} has ended: ${status}${status === 'success' ? '' : ` (${plain(end_reason ?? '')})`}, ${counted(outputs.length, 'output')}${warnings.length === 0 ? '' : `, ${counted(warnings.length, 'warning')}`}`;
};

const signatureWords = (signature: Checked): string => {
  switch (signature) {
    case 'right':
      return 'signature valid';
    case 'wrong':
      return 'SIGNATURE INVALID';
    case 'stale':
      return 'SIGNATURE TOO OLD';
    case 'unsigned':
      return 'NOT SIGNED';
    case 'not checked':
      return 'signature not checked';
  }
};
