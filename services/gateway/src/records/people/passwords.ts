import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';
import { Refused } from '../../door/refusal.ts';

/** What a hash costs: 32 MiB, and a tenth of a second of a core. Stored hashes were made with these. */
const COST = { N: 16_384, r: 16, p: 1 };
const MOST_MEMORY = 64 * 1024 ** 2;
const KEY_BYTES = 64;
const SALT_BYTES = 16;
const MOST_AT_ONCE = 4;
const MOST_WAITING = 64;

/** Hashes of passwords: `<salt>:<key>`, both in hexadecimal. So many are made at once, others wait. @throws {Refused} when too many wait */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** It takes the same time without a hash, when it is false. */
  matches(password: string, hash: string | undefined): Promise<boolean>;
}

export const openPasswords = (cost = COST): Passwords => {
  const limit = pLimit(MOST_AT_ONCE);
  const hashed = async (password: string, salt: string): Promise<Buffer> => {
    if (limit.pendingCount >= MOST_WAITING) throw busy();
    return limit(() => keyOf(password, salt, cost));
  };
  const newSalt = (): string => randomBytes(SALT_BYTES).toString('hex');
  return {
    hash: async (password) => {
      const salt = newSalt();
      return `${salt}:${(await hashed(password, salt)).toString('hex')}`;
    },
    matches: async (password, hash = '') => {
      const [salt = '', key = ''] = hash.split(':');
      const made = await hashed(password, salt === '' ? newSalt() : salt);
      const stored = Buffer.from(key, 'hex');
      return stored.length === made.length && timingSafeEqual(stored, made);
    },
  };
};

/** The salt is the text, not the bytes that it stands for. A character that can be written in several ways is the same character. */
const keyOf = (password: string, salt: string, cost: typeof COST): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const options = { ...cost, maxmem: MOST_MEMORY };
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });

const busy = (): Refused =>
  new Refused({
    code: 'sign_in_limited',
    why: 'Too many people sign in at this server at once. Try again in 5 s',
    headers: { 'Retry-After': '5' },
  });
