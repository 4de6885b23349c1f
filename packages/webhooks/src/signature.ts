import { createHmac, randomBytes } from 'node:crypto';

/** The headers of Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
export interface SignedHeaders {
  readonly 'webhook-id': string;
  /** Whole seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** `v1,<base64>` for each secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

export interface Signable {
  /** The same on every retry: 1 to 256 of `A-Z a-z 0-9 _ -`. */
  readonly id: string;
  /** The time of sending. Receivers refuse notifications older than five minutes. */
  readonly at: Date;
  /** Exactly the sent bytes. */
  readonly body: Uint8Array;
  /** One or more, the current one first. */
  readonly secrets: readonly string[];
}

const PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
/** The bounds of the specification. */
const LEAST_SECRET_BYTES = 24;
const MOST_SECRET_BYTES = 64;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Without a dot, which separates the signed parts: an id with a dot could be read as another id and time. */
const ID = /^[\w-]{1,256}$/;

export const newSigningSecret = (): string => `${PREFIX}${randomBytes(NEW_SECRET_BYTES).toString('base64')}`;

/** @throws TypeError for an invalid id or secret, or no secret */
export const signedHeaders = ({ id, at, body, secrets }: Signable): SignedHeaders => {
  if (!ID.test(id)) {
    throw new TypeError(
      `"${id}" is not a valid webhook id: 1 to 256 letters, digits, "_" and "-" are expected.`,
    );
  }
  if (secrets.length === 0)
    throw new TypeError('A webhook is signed with at least one secret, and there is none.');
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const head = `${id}.${timestamp}.`;
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secretBytes(secret)).update(head).update(body).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
};

/** Its message never quotes the secret. */
const secretBytes = (secret: string): Buffer => {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  const bytes = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  if (bytes.length < LEAST_SECRET_BYTES || bytes.length > MOST_SECRET_BYTES) {
    throw new TypeError(
      `A signing secret is "${PREFIX}" and ${LEAST_SECRET_BYTES} to ${MOST_SECRET_BYTES} bytes in base64. This secret is invalid.`,
    );
  }
  return bytes;
};
