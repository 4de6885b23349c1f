import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  randomBytes,
  type KeyObject,
  createHmac,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto';
import { list } from '@runledger/service-kit/config-schemas';
import { Type } from 'typebox';

/** Encrypts texts before they are stored. What was sealed for one context cannot be opened for another. */
export interface SecretBox {
  /** The ids of the keys, that of the first one first: hexadecimal, and nothing can be learned about the keys from them. */
  readonly keyIds: readonly string[];
  /** `v1.<key id>.<nonce, text and tag in base64url>`; different each time. */
  seal(text: string, context: string): string;
  /** @throws {UnreadableSecret} when no key fits, or the sealed text was changed or sealed for another context */
  open(sealed: string, context: string): string;
  /** Whether the first key sealed it. */
  isFresh(sealed: string): boolean;
}

/** A stored secret cannot be decrypted. The message names the setting to check and holds no secret. */
export class UnreadableSecret extends Error {
  override readonly name = 'UnreadableSecret';
  readonly code = 'unreadable_secret';
}

const KEY_BYTES = 32;
const KEY_PATTERN = '^[A-Za-z0-9+/]{43}=$';
const MAKE_ONE = 'openssl rand -base64 32';

/** The environment variable of the box, to spread into the configuration schema of a service that opens one. */
export const secretKeysConfig: { RUNLEDGER_SECRET_KEYS: Type.TArray<Type.TString> } = {
  RUNLEDGER_SECRET_KEYS: list(Type.String({ pattern: KEY_PATTERN }), {
    minItems: 1,
    secret: true,
    description:
      'the keys that encrypt the stored signing secrets of webhooks, secrets for programs and secret inputs, and sign tokens of runs and addresses of output files; the same in ' +
      `gateway and notifier: 32 random bytes in base64, made with: ${MAKE_ONE}; the first key encrypts and signs, all decrypt and verify`,
  }),
};

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D: 96 random bits, for fewer than 2^32 texts a key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED = /^v1\.([0-9a-f]{8})\.([\w-]+)$/;

interface BoxKey {
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * AES-256-GCM. The first of `keys` seals, and all of them open, so that a key can be changed while services run.
 * @throws TypeError for a key that is not 32 bytes in base64
 */
export const secretBox = (keys: readonly string[]): SecretBox => {
  const [sealing, ...others] = keys.map(readKey);
  if (sealing === undefined) {
    throw new TypeError(
      `A secret box needs a key, and RUNLEDGER_SECRET_KEYS gives none. Make one with: ${MAKE_ONE}`,
    );
  }
  const byId = new Map([...others, sealing].map(({ id, key }) => [id, key]));
  return {
    keyIds: [...new Set([sealing, ...others].map(({ id }) => id))],
    seal: (text, context) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, sealing.key, nonce).setAAD(Buffer.from(context));
      const data = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${sealing.id}.${data.toString('base64url')}`;
    },
    open: (sealed, context) => {
      const [, id = '', data = ''] = SEALED.exec(sealed) ?? [];
      const bytes = Buffer.from(data, 'base64url');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new UnreadableSecret(`The stored secret of ${context} has an unknown format.`);
      }
      const key = byId.get(id);
      if (key === undefined) {
        throw new UnreadableSecret(
          `The stored secret of ${context} was encrypted with the key ${id}, and RUNLEDGER_SECRET_KEYS holds ` +
            `${[...byId.keys()].join(', ')}. Add the old key behind the current one. If it is lost, rotate the secret without an overlap.`,
        );
      }
      return decrypt(bytes, key, context);
    },
    isFresh: (sealed) => SEALED.exec(sealed)?.[1] === sealing.id,
  };
};

const decrypt = (bytes: Buffer, key: KeyObject, context: string): string => {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (error) {
    throw new UnreadableSecret(
      `The stored secret of ${context} was changed, or belongs to another organisation: its key is known and does not decrypt it.`,
      { cause: error },
    );
  }
};

/** A key object, because logs never show its bytes. */
const readKey = (text: string, index: number): BoxKey => {
  const bytes = secretKeyBytes(text, index);
  const id = createHash('sha256').update('runledger key id').update(bytes).digest('hex').slice(0, 8);
  return { id, key: createSecretKey(bytes) };
};

/** One of RUNLEDGER_SECRET_KEYS, whose `index` counts from 0. @throws TypeError for a key that is not 32 bytes in base64 */
export const secretKeyBytes = (text: string, index: number): Buffer => {
  const bytes = Buffer.from(text, 'base64');
  if (!new RegExp(KEY_PATTERN).test(text) || bytes.length !== KEY_BYTES) {
    throw new TypeError(
      `Key number ${index + 1} of RUNLEDGER_SECRET_KEYS is not ${KEY_BYTES} bytes in base64 (44 characters). ` +
        `Make one with: ${MAKE_ONE}`,
    );
  }
  return bytes;
};

/** What is signed. A signature for one purpose is worth nothing for another. */
type SigningPurpose = 'run-token' | 'output-url' | 'idempotent-request' | 'accounts' | 'preparation';

/** Signs texts that return to us, so that nothing has to be stored. */
export interface Signer {
  /** HMAC-SHA256 in base64url. */
  sign(text: string): string;
  /** False for anything that is not a signature of this text. */
  verifies(text: string, signature: string): boolean;
}

/**
 * The first of `keys` signs, and the signatures of all count, so that a key can be changed while services run. Each purpose has keys
 * of its own, derived by HKDF. @throws TypeError for a key that is not 32 bytes in base64
 */
export const signer = (keys: readonly string[], purpose: SigningPurpose): Signer => {
  const derived = keys.map((key, index) =>
    Buffer.from(hkdfSync('sha256', secretKeyBytes(key, index), '', `runledger ${purpose}`, KEY_BYTES)),
  );
  const [signing] = derived;
  if (signing === undefined)
    throw new TypeError('A signer needs a key, and RUNLEDGER_SECRET_KEYS gives none.');
  const macOf = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  return {
    sign: (text) => macOf(signing, text).toString('base64url'),
    verifies: (text, signature) => {
      const given = Buffer.from(signature, 'base64url');
      // Several texts decode to the same bytes: only one of them is the signature.
      if (given.byteLength !== KEY_BYTES || given.toString('base64url') !== signature) return false;
      return derived.some((key) => timingSafeEqual(given, macOf(key, text)));
    },
  };
};
