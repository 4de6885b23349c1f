import pLimit from 'p-limit';
import { Refused } from '../../door/refusal.ts';
import type { OpenAuthLibrary } from './auth-library.ts';
import { RowExists, TABLES, type AccountRows, type Row } from './account-rows.ts';

/** Somebody who has an account. */
export interface Person {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
}

/** The accounts. A person is one in all organisations. Every method may throw LogUnavailable. */
export interface People {
  find(id: string): Promise<Person | undefined>;
  findByEmail(email: string): Promise<Person | undefined>;
  /** Undefined when there is no such person, or the password is another one; both take the same time. */
  withPassword(email: string, password: string): Promise<Person | undefined>;
  /** Undefined when the e-mail has an account already. */
  create(email: string, name: string): Promise<Person | undefined>;
  hasPassword(id: string): Promise<boolean>;
  setPassword(id: string, password: string): Promise<void>;
  removePassword(id: string): Promise<void>;
  /** Removes the person, their sessions and their ways to sign in. */
  remove(id: string): Promise<void>;
}

/** What the library calls the way to sign in with a password. */
const PASSWORDS = 'credential';
/** One hash takes 32 MiB and a tenth of a second of a core. */
const MOST_AT_ONCE = 4;
const MOST_WAITING = 64;

export const people = (rows: AccountRows, library: OpenAuthLibrary): People => {
  const limit = pLimit(MOST_AT_ONCE);
  const hashing: Hashing = (work) => {
    if (limit.pendingCount >= MOST_WAITING) throw busy();
    return limit(work);
  };
  const findByEmail: People['findByEmail'] = async (email) => {
    const row = await rows.findUnique(TABLES.user, [email.toLowerCase()]);
    return row && personIn(row);
  };
  return {
    find: async (id) => {
      const row = await rows.find(TABLES.user, id);
      return row && personIn(row);
    },
    findByEmail,
    withPassword: (email, password) =>
      hashing(async () => {
        const loaded = await library();
        const token = await loaded.signIn(email, password);
        if (token === undefined) return undefined;
        // The library begins a session with each sign-in. Ours begin elsewhere, with what they are for.
        await loaded.context.internalAdapter.deleteSession(token);
        return findByEmail(email);
      }),
    create: async (email, name) => {
      const { internalAdapter } = (await library()).context;
      try {
        const { id } = await internalAdapter.createUser(
          { email, name, emailVerified: false },
          { method: 'other' },
        );
        return { id, email: email.toLowerCase(), name };
      } catch (error) {
        if (error instanceof RowExists) return undefined;
        throw error;
      }
    },
    ...passwordsOf(rows, library, hashing),
    remove: async (id) => {
      const { internalAdapter } = (await library()).context;
      await internalAdapter.deleteUser(id);
    },
  };
};

/** Bounds how many hashes are made at once. */
type Hashing = <Result>(work: () => Promise<Result>) => Promise<Result>;

const passwordsOf = (
  rows: AccountRows,
  library: OpenAuthLibrary,
  hashing: Hashing,
): Pick<People, 'hasPassword' | 'setPassword' | 'removePassword'> => ({
  hasPassword: async (id) => {
    const { internalAdapter } = (await library()).context;
    return typeof (await internalAdapter.findCredentialAccount(id))?.password === 'string';
  },
  setPassword: (id, password) =>
    hashing(async () => {
      const { internalAdapter, password: passwords } = (await library()).context;
      const hash = await passwords.hash(password);
      if (await internalAdapter.findCredentialAccount(id)) return internalAdapter.updatePassword(id, hash);
      await internalAdapter.linkAccount({
        userId: id,
        providerId: PASSWORDS,
        accountId: id,
        password: hash,
      });
    }),
  removePassword: async (id) => {
    const present = await rows.listOwned(TABLES.account, id);
    const ofPasswords = present.filter(({ providerId }) => providerId === PASSWORDS);
    await Promise.all(ofPasswords.map((row) => rows.remove(TABLES.account, row)));
  },
});

export const personIn = (row: Row): Person => ({
  id: String(row['id']),
  email: String(row['email']),
  name: String(row['name']),
});

const busy = (): Refused =>
  new Refused({
    code: 'sign_in_limited',
    why: 'Too many people sign in at this server at once. Try again in 5 s',
    headers: { 'Retry-After': '5' },
  });
