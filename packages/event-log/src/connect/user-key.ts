import { createUser, fromSeed } from '@nats-io/nkeys';

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** Of a seed, for schemas: blanks around it are taken off. */
export const SEED_PATTERN = String.raw`^\s*SU[A-Z2-7]{56}\s*$`;

/** What should be the seed of a user's nkey is none. */
export class InvalidSeed extends TypeError {
  override readonly name = 'UnusableSeed';
  readonly code = 'unusable_seed';
}

export interface UserKey {
  /** Secret, `SU…`. */
  readonly seed: string;
  /** `U…`: what the broker's configuration holds. */
  readonly publicKey: string;
}

export const newUserKey = (): UserKey => {
  const key = createUser();
  return { seed: text.decode(key.getSeed()), publicKey: key.getPublicKey() };
};

/** @throws {InvalidSeed} */
export const publicKeyOf = (seed: string): string => {
  const trimmed = seed.trim();
  try {
    if (new RegExp(SEED_PATTERN).test(trimmed)) return fromSeed(utf8.encode(trimmed)).getPublicKey();
  } catch {
    // What it says would tell a part of the seed.
  }
  throw new InvalidSeed(
    'NATS_NKEY is not the seed of a user: 58 characters that begin with SU, as "runledger broker-config" writes them into ' +
      'the file of each service. Make the file anew, and configure the broker with the public keys that belong to it.',
  );
};

/** Where the broker sends the answers for whoever holds the key: nobody else may listen there. */
export const inboxOf = (publicKey: string): string => `_INBOX_${publicKey}`;
