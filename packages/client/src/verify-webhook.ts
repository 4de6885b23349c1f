import type { operations } from './generated/api-types.ts';
import type { Notification } from './operations.ts';
import { RunledgerError, WebhookInvalid } from './errors.ts';
import { isObject, parsed } from './http/json.ts';

export interface WebhookRequest {
  /** Exactly as received: the text or the bytes, never an object that a framework made of it. */
  readonly body: string | Uint8Array | ArrayBuffer;
  /** `Headers`, or an object with the headers such as that of Node. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Each `whsec_…`. While a secret is rotated, the old and the new one. */
  readonly secrets: string | readonly string[];
  /** Seconds that the notification may be old, or ahead: 300 when left out, as Standard Webhooks says. */
  readonly toleranceS?: number | undefined;
}

const DEFAULT_TOLERANCE_S = 300;
/** Of the body. Within it members may be added. */
const VERSION = '1';

/**
 * The notification of a webhook, if one of the secrets signed it, as Standard Webhooks prescribes:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * Several deliveries of a notification have the same `webhook-id`. @throws WebhookInvalid, RunledgerError for an invalid secret
 */
export const verifyWebhook = async ({
  body,
  headers,
  secrets,
  toleranceS = DEFAULT_TOLERANCE_S,
}: WebhookRequest): Promise<Notification> => {
  const bytes = bytesOf(body);
  const [id, timestamp, signature] = (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const).map(
    (name) => headerIn(headers, name),
  );
  if (id === undefined || timestamp === undefined || signature === undefined)
    throw new WebhookInvalid(
      'The request is not signed: webhook-id, webhook-timestamp or webhook-signature is missing. It is not from Runledger, or a proxy removed them.',
    );
  const keys = await Promise.all([secrets].flat().map(keyOf));
  if (keys.length === 0)
    throw new RunledgerError('There is no secret. Give the one of runledger webhook-secret.');
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (!/^\d{1,12}$/.test(timestamp) || !(await isSigned(signed, signature, keys)))
    throw new WebhookInvalid(
      'No signature of the request fits. Check that the secret is the one of this installation, and that the body is exactly what was received.',
    );
  if (!(Math.abs(Date.now() / 1_000 - Number(timestamp)) <= toleranceS))
    throw new WebhookInvalid(
      `The request was signed more than ${toleranceS} s ago or ahead. It may be a replay, or the clock of this machine is wrong.`,
    );
  return notificationIn(bytes, headerIn(headers, 'runledger-webhook-version'));
};

const bytesOf = (body: WebhookRequest['body']): Uint8Array => {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new RunledgerError(
    'The body is not a text and not bytes. Give it as it was received, before JSON is parsed: the signature is of these bytes.',
  );
};

/** Names of headers have no case. */
type HeaderName = keyof operations['receiveRunNotification']['parameters']['header'];

const headerIn = (headers: WebhookRequest['headers'], name: HeaderName): string | undefined => {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.join(',');
};

const PREFIX = 'whsec_';
/** The bounds of Standard Webhooks. */
const [LEAST_SECRET_BYTES, MOST_SECRET_BYTES] = [24, 64];

type SigningKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Its message never quotes the secret. */
const keyOf = (secret: string): Promise<SigningKey> => {
  const bytes = secret.startsWith(PREFIX) ? bytesIn(secret.slice(PREFIX.length)) : undefined;
  if (!bytes || bytes.length < LEAST_SECRET_BYTES || bytes.length > MOST_SECRET_BYTES)
    throw new RunledgerError(
      `A signing secret is "${PREFIX}" and ${LEAST_SECRET_BYTES} to ${MOST_SECRET_BYTES} bytes in base64. This one is not: copy it again from runledger webhook-secret.`,
    );
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
};

/** Undefined for a text that is no base64. */
const bytesIn = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
};

const SIGNATURE = /^v1,([A-Za-z0-9+/]{43}=)$/;

const isSigned = async (
  signed: Uint8Array<ArrayBuffer>,
  signature: string,
  keys: readonly SigningKey[],
): Promise<boolean> => {
  for (const text of signature.split(' ')) {
    const given = bytesIn(SIGNATURE.exec(text)?.[1] ?? '');
    if (!given) continue;
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, given, signed)) return true;
  }
  return false;
};

const joined = (head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(head.length + rest.length);
  all.set(head);
  all.set(rest, head.length);
  return all;
};

const notificationIn = (bytes: Uint8Array, version: string | undefined): Notification => {
  if (version !== undefined && version !== VERSION)
    throw new RunledgerError(
      `The notification has version ${version}, and this client knows version ${VERSION}. Update @runledger/client.`,
    );
  const value = parsed(new TextDecoder().decode(bytes));
  // Runledger signed it, and describes it.
  if (isObject(value)) return value as unknown as Notification;
  throw new WebhookInvalid('The notification is signed, and is no JSON object.');
};
