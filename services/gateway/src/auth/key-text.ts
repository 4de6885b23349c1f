import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const KEY = /^[\x21-\x7e]{16,255}$/;
const PREFIX_LENGTH = 8;
/** A chosen key may be short. */
const MOST_OF_A_KEY = 1 / 4;

/** Printable ASCII without spaces, long enough. */
export const isKeyText = (text: string): boolean => KEY.test(text);

export const newKeyText = (): string => `rl_${randomBytes(32).toString('base64url')}`;

/** People recognise the key by it. */
export const prefixOf = (key: string): string =>
  key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length * MOST_OF_A_KEY)));

/** Stored instead of the key: 64 hex digits. Keys have 256 random bits, so no salt and no slow hash is needed. */
export const sha256Of = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Takes the same time wherever the hashes differ. */
export const isSameHash = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
};
