import { createPrivateKey, createPublicKey, hkdfSync, sign, verify, type KeyObject } from 'node:crypto';
import type { Receipt } from '@runledger/contracts/http/receipts';
import { secretKeyBytes } from './secret-box.ts';

/** Signs receipts, so that anybody with the public key can check them. */
export interface ReceiptSigner {
  /** Ed25519 (SPKI, DER, base64url). The first one signs, the others have signed before. */
  readonly publicKeys: readonly string[];
  sign(receipt: Omit<Receipt, 'key' | 'signature'>): Receipt;
}

/** RFC 8410: a private key of Ed25519 is 32 bytes behind these. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** Derives a key pair from each secret key, as a signer does its keys. @throws TypeError for a key that is not 32 bytes in base64 */
export const receiptSigner = (keys: readonly string[]): ReceiptSigner => {
  const pairs = keys.map((key, index) => {
    const seed = hkdfSync('sha256', secretKeyBytes(key, index), '', 'runledger receipt', SEED_BYTES);
    const der = Buffer.concat([PKCS8, Buffer.from(seed)]);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  });
  const [signing] = pairs;
  if (!signing) throw new TypeError('A receipt needs a key, and RUNLEDGER_SECRET_KEYS gives none.');
  const publicKeys = pairs.map(publicText);
  return {
    publicKeys,
    sign: (receipt) => {
      const unsigned = { ...receipt, key: publicText(signing) };
      return { ...unsigned, signature: sign(null, bytesOf(unsigned), signing).toString('base64url') };
    },
  };
};

const publicText = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64url');

/** In this order of members, whatever the order in a file is. */
const bytesOf = ({ format, run_id, org_id, issued_at, facts, key }: Omit<Receipt, 'signature'>): Buffer =>
  Buffer.from(
    JSON.stringify({
      format,
      run_id,
      org_id,
      issued_at,
      facts: facts.map(({ sequence, time, subject, follows, content, sha256 }) => ({
        sequence,
        time,
        subject,
        follows,
        content,
        sha256,
      })),
      key,
    }),
  );

/** Whether the key that it names has signed it. */
export const isSigned = ({ signature, ...receipt }: Receipt): boolean => {
  try {
    const key = createPublicKey({ key: Buffer.from(receipt.key, 'base64url'), format: 'der', type: 'spki' });
    return (
      key.asymmetricKeyType === 'ed25519' &&
      verify(null, bytesOf(receipt), key, Buffer.from(signature, 'base64url'))
    );
  } catch {
    // It is no key.
    return false;
  }
};
