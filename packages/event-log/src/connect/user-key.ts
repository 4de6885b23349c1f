import { createUser, fromSeed } from '@nats-io/nkeys';

const utf8 = new TextEncoder();
const text = new TextDecoder();

/** The form of a seed, for schemas. Blanks around it are ignored. */
export const SEED_PATTERN = String.raw`^\s*SU[A-Z2-7]{56}\s*$`;

/** The text is not the seed of a user's nkey. */
export class InvalidSeed extends TypeError {
  override readonly name = 'InvalidSeed';
  readonly code = 'invalid_seed';
}

export interface UserKey {
  /** Secret, `SU…`. */
  readonly seed: string;
  /** `U…`, for the broker's configuration. */
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
    // Its message would reveal a part of the seed.
  }
  throw new InvalidSeed(
    'NATS_NKEY is not the seed of a user: 58 characters that begin with SU, as "runledger broker-config" writes them into ' +
      'the file of each service. Create the file again, and configure the broker with the matching public keys.',
  );
};

/** The broker sends responses for the holder of the key to this subject. No other user may subscribe to it. */
export const inboxOf = (publicKey: string): string => `_INBOX_${publicKey}`;
