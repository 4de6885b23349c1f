import type { webcrypto } from 'node:crypto';
import type { RunKey } from './events/subjects.ts';

/**
 * The credential of one execution attempt for the gateway's upload endpoint. The executor signs it with the Ed25519
 * key of its boot; the gateway checks it against the public key in the RunAssigned of the current attempt. Services share
 * no secret, and the log contains none.
 */
const statement = (run: RunKey, attempt: number): Buffer<ArrayBuffer> =>
  Buffer.from(`runledger-attempt:v1:${run.org_id}:${run.run_id}:${attempt}`);

export interface AttemptKeys {
  readonly privateKey: webcrypto.CryptoKey;
  /** SPKI, DER, base64url: what an executor registers. */
  readonly publicKey: string;
}

export const newAttemptKeys = async (): Promise<AttemptKeys> => {
  // The types allow a single key; Ed25519 always gives a pair.
  const pair = (await crypto.subtle.generateKey('Ed25519', false, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const spki = await crypto.subtle.exportKey('spki', pair.publicKey);
  return { privateKey: pair.privateKey, publicKey: Buffer.from(spki).toString('base64url') };
};

/** The bearer token (base64url of the signature) for uploads of this attempt. */
export const signAttempt = async (keys: AttemptKeys, run: RunKey, attempt: number): Promise<string> =>
  Buffer.from(await crypto.subtle.sign('Ed25519', keys.privateKey, statement(run, attempt))).toString(
    'base64url',
  );

/** False for anything that is not this attempt's token, even if it is malformed. */
export const verifyAttempt = async (
  publicKey: string,
  token: string,
  run: RunKey,
  attempt: number,
): Promise<boolean> => {
  try {
    const spki = Buffer.from(publicKey, 'base64url');
    const key = await crypto.subtle.importKey('spki', spki, { name: 'Ed25519' }, false, ['verify']);
    return await crypto.subtle.verify(
      'Ed25519',
      key,
      Buffer.from(token, 'base64url'),
      statement(run, attempt),
    );
  } catch {
    return false;
  }
};
