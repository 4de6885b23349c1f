import { createPrivateKey, createPublicKey, hkdfSync, sign, verify, type KeyObject } from 'node:crypto';
import type { Receipt, ReceiptSegment } from '@runledger/contracts/http/receipts';
import { secretKeyBytes } from './secret-box.ts';

/** Signs receipts, so that anybody with the public key can check them. */
export interface ReceiptSigner {
  /** Ed25519 (SPKI, DER, base64url). The first one signs, the others have signed before. */
  readonly publicKeys: readonly string[];
  /** `segments`: those that have facts of it, none for a run that is not archived. */
  sign(
    receipt: Omit<Receipt, 'key' | 'signature' | 'archive'>,
    segments?: readonly ReceiptSegment[],
  ): Receipt;
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
    sign: (receipt, segments = []) => {
      const unsigned = { ...receipt, key: publicText(signing) };
      const signatureOf = (bytes: Buffer): string => sign(null, bytes, signing).toString('base64url');
      const archived = signatureOf(archiveBytesOf(receipt, segments));
      return {
        ...unsigned,
        signature: signatureOf(bytesOf(unsigned)),
        ...(segments.length > 0 && { archive: { segments: [...segments], signature: archived } }),
      };
    },
  };
};

const publicText = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64url');

/** In this order of members, whatever the order in a file is. */
const bytesOf = ({
  format,
  run_id,
  org_id,
  issued_at,
  facts,
  key,
}: Omit<Receipt, 'signature' | 'archive'>): Buffer =>
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

/** Signed by itself, so that who knows nothing of archives can check the rest. */
const archiveBytesOf = (
  { run_id, issued_at }: Pick<Receipt, 'run_id' | 'issued_at'>,
  segments: readonly ReceiptSegment[],
): Buffer =>
  Buffer.from(
    JSON.stringify({
      run_id,
      issued_at,
      segments: segments.map(({ first_sequence, last_sequence, messages, root, facts }) => ({
        first_sequence,
        last_sequence,
        messages,
        root,
        facts: facts.map(({ sequence, index, path }) => ({ sequence, index, path })),
      })),
    }),
  );

/** Whether the key that it names has signed it, and what it says of the archive. */
export const isSigned = ({ signature, archive, ...receipt }: Receipt): boolean => {
  try {
    const key = createPublicKey({ key: Buffer.from(receipt.key, 'base64url'), format: 'der', type: 'spki' });
    const isOfKey = (bytes: Buffer, text: string): boolean =>
      verify(null, bytes, key, Buffer.from(text, 'base64url'));
    return (
      key.asymmetricKeyType === 'ed25519' &&
      isOfKey(bytesOf(receipt), signature) &&
      (!archive || isOfKey(archiveBytesOf(receipt, archive.segments), archive.signature))
    );
  } catch {
    // It is no key.
    return false;
  }
};
