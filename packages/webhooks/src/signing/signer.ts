import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { secretKeyBytes } from './secret-box.ts';

/** What is signed. A signature for one purpose is worth nothing for another. */
type SigningPurpose = 'run-token' | 'output-url' | 'idempotent-request' | 'accounts';

/** Signs texts that return to us, so that nothing has to be stored. */
export interface Signer {
  /** HMAC-SHA256 in base64url. */
  sign(text: string): string;
  /** False for anything that is not a signature of this text. */
  verifies(text: string, signature: string): boolean;
}

const KEY_BYTES = 32;

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
