// The nkey of a user at the broker: an Ed25519 key (https://github.com/nats-io/nkeys). The texts are those of the library of NATS;
// node:crypto signs in a tenth of a millisecond, where the library's JavaScript takes 36 ms for the first signature of a process, and every
// service signs before it does anything else.
import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { Codec } from '@nats-io/nkeys/lib/codec.js';
import { Prefix } from '@nats-io/nkeys/lib/nkeys.js';
import type { Authenticator } from '@nats-io/transport-node';
import { SEED_PATTERN } from './broker-config.ts';

export interface UserKey {
  /** Secret, `SU…`. */
  readonly seed: string;
  /** `U…`, for the broker's configuration. */
  readonly publicKey: string;
}

export const newUserKey = (): UserKey => {
  const seed = textOf(Codec.encodeSeed(Prefix.User, randomBytes(KEY_BYTES)));
  return { seed, publicKey: publicKeyOf(seed) };
};

/** @throws {InvalidSeed} */
export const publicKeyOf = (seed: string): string => {
  const spki = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  return textOf(Codec.encode(Prefix.User, spki.subarray(-KEY_BYTES)));
};

/** Answers the challenge of a broker as the holder of the seed. @throws {InvalidSeed} */
export const keyAuthenticator = (seed: string): Authenticator => {
  const [key, nkey] = [privateKeyOf(seed), publicKeyOf(seed)];
  return (nonce) => ({
    nkey,
    sig: nonce === undefined ? '' : sign(null, Buffer.from(nonce), key).toString('base64'),
  });
};

/** The text is not the seed of a user's nkey. */
export class InvalidSeed extends TypeError {
  override readonly name = 'InvalidSeed';
  readonly code = 'invalid_seed';

  constructor() {
    super(
      'NATS_NKEY is not the seed of a user: 58 characters that begin with SU, as "runledger broker-config" writes them into ' +
        'the file of each service. Create the file again, and configure the broker with the matching public keys.',
    );
  }
}

const KEY_BYTES = 32;
/** RFC 8410: the DER of a private Ed25519 key, before its 32 bytes, in hexadecimal. No Buffer: browsers load this file for the simulator. */
const PKCS8_BEFORE_KEY = '302e020100300506032b657004220420';

const textOf = (encoded: Uint8Array): string => Buffer.from(encoded).toString();

const privateKeyOf = (seed: string): KeyObject => {
  const trimmed = seed.trim();
  if (!new RegExp(SEED_PATTERN).test(trimmed)) throw new InvalidSeed();
  try {
    const key = Buffer.concat([
      Buffer.from(PKCS8_BEFORE_KEY, 'hex'),
      Codec.decodeSeed(Buffer.from(trimmed)).buf,
    ]);
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  } catch {
    // Without the library's error, which may have the text: it may be a seed with a mistake.
    throw new InvalidSeed();
  }
};
