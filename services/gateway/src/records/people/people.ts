import { newUuid } from '@runledger/contracts/ids';
import { accountName, type Account, type AccountRecords } from './account-records.ts';
import type { IdentityId } from './open-id-provider.ts';
import type { Passwords } from './passwords.ts';

/** Somebody who has an account. */
export interface Person {
  readonly id: string;
  /** In lower case. */
  readonly email: string;
  readonly name: string;
  /**
   * The try to become a member that has made the account, or taken it up. Until the person is a member there is no account for anybody else: no
   * password and no identity opens it, and the next try takes it up.
   */
  readonly joining?: string;
}

interface Joining {
  readonly org_id: string;
  readonly password?: string;
}

/**
 * The people of all organisations. An identity of a provider is one person's, and a person has one of a provider: it signs in where its claim and the
 * account agree. Every method may throw LogUnavailable, and may be called again then.
 */
export interface People {
  find(id: string): Promise<Person | undefined>;
  findByEmail(email: string): Promise<Person | undefined>;
  findByIdentity(identity: IdentityId): Promise<Person | undefined>;
  /** Undefined when there is no such person, or the password is another one; both take the same time. */
  withPassword(email: string, password: string): Promise<Person | undefined>;
  /** Somebody who joins an organisation next. Undefined when the e-mail has an account already. */
  create(email: string, name: string, joining?: Joining): Promise<Person | undefined>;
  /** The same, where somebody has tried to join before, and was interrupted. Undefined when another try has taken it up, or has succeeded. */
  takeUp(former: Person, name: string, joining: Joining): Promise<Person | undefined>;
  /** How the person signs in, beside links. */
  waysOf(id: string): Promise<{ readonly password: boolean; readonly issuer: string | undefined }>;
  /** Ends all sessions of the person but this one. */
  setPassword(id: string, password: string, keeps?: string): Promise<void>;
  /**
   * From now on the person signs in with the identity; without `keepsPassword` their password and sessions have ended before. False when the
   * person has another identity of the provider, or the identity is another person's.
   */
  link(id: string, identity: IdentityId, keepsPassword: boolean): Promise<boolean>;
  /** The organisations that the person belongs to, the first one first, and perhaps one more. */
  organisationsOf(id: string): Promise<readonly string[]>;
  /** The ids of all who belong to an organisation, and perhaps some more. */
  of(org_id: string): Promise<readonly string[]>;
  /** Notes it before the person becomes a member. False when there is no such person. */
  enter(id: string, org_id: string): Promise<boolean>;
  /** The person has become a member. False when another try to join has taken the account up. */
  settle(person: Person): Promise<boolean>;
  /** After the person was removed: a person without any organisation has no account. With a try to join, only while it has not been taken up. */
  leave(id: string, org_id: string, joining?: string): Promise<void>;
  /** With their sessions and their ways to sign in. */
  remove(id: string): Promise<void>;
}

export const people = (accounts: AccountRecords, passwords: Passwords): People => {
  const hashOf = async (password: string | undefined): Promise<{ password?: string }> =>
    password === undefined ? {} : { password: await passwords.hash(password) };
  const change: AccountRecords['change'] = (id, to) => accounts.change(id, to);
  return {
    find: async (id) => shown(await accounts.find('id', id)),
    findByEmail: async (email) => shown(await accounts.findByName(accountName(email))),
    findByIdentity: async (identity) => {
      const account = await accounts.findByIdentity(textOf(identity));
      return account?.joining === undefined ? shown(account) : undefined;
    },
    withPassword: async (email, password) => {
      const account = await accounts.findByName(accountName(email));
      const hash = account?.joining === undefined ? account?.password : undefined;
      return (await passwords.matches(password, hash)) ? shown(account) : undefined;
    },
    create: async (email, name, joining) => {
      const made = { ...newAccount(email, name), ...(await hashOf(joining?.password)) };
      const account = joining ? { ...made, organisations: [joining.org_id] } : made;
      return (await accounts.create(account)) ? shown(account) : undefined;
    },
    takeUp: async ({ id, email, joining }, name, { org_id, password }) => {
      const made = { ...newAccount(email, name), id, ...(await hashOf(password)) };
      const changed = await change(id, (present) => {
        if (joining === undefined || present.joining !== joining) return present;
        const organisations = [...new Set([...present.organisations, org_id])];
        return { ...made, organisations, ...(present.link && { link: present.link }) };
      });
      return changed?.joining === made.joining ? shown(changed) : undefined;
    },
    waysOf: async (id) => {
      const account = await accounts.find('id', id);
      return { password: account?.password !== undefined, issuer: account && issuerIn(account) };
    },
    setPassword: async (id, password, keeps) => {
      const hash = await hashOf(password);
      await change(id, (present) => ({
        ...present,
        ...hash,
        sessions: present.sessions.filter((session) => session.id === keeps),
      }));
    },
    link: async (id, identity, keepsPassword) => {
      const text = textOf(identity);
      const owner = await accounts.findByIdentity(text);
      if (owner !== undefined && owner.id !== id) return false;
      const named = await change(id, (present) => {
        const { password: _password, ...account } = present;
        if (issuerIn(present) === identity.issuer && present.identity !== text) return present;
        return keepsPassword ? { ...present, identity: text } : { ...account, identity: text, sessions: [] };
      });
      if (named?.identity !== text) return false;
      if (await accounts.claimIdentity(named)) return true;
      // Another person got it at the same moment.
      await change(id, ({ identity: present, ...account }) =>
        present === undefined || present === text ? account : { ...account, identity: present },
      );
      return false;
    },
    organisationsOf: async (id) => (await accounts.find('id', id))?.organisations ?? [],
    of: async (org_id) => (await accounts.of(org_id)).map(({ id }) => id),
    enter: async (id, org_id) => {
      const changed = await change(id, (present) =>
        present.organisations.includes(org_id)
          ? present
          : { ...present, organisations: [...present.organisations, org_id] },
      );
      return changed !== undefined;
    },
    settle: async (person) => {
      const changed = await change(person.id, (present) =>
        present.joining !== undefined && present.joining === person.joining ? joined(present) : present,
      );
      return changed !== undefined && changed.joining === undefined;
    },
    leave: async (id, org_id, joining) => {
      await change(id, (present) => {
        if (joining !== undefined && present.joining !== joining) return present;
        const organisations = present.organisations.filter((one) => one !== org_id);
        return organisations.length === 0 ? undefined : { ...present, organisations };
      });
    },
    remove: async (id) => {
      await change(id, () => undefined);
    },
  };
};

/** Of somebody who has said no name. */
export const nameOf = (email: string): string => email.split('@', 1)[0] ?? email;

/** Of somebody who joins an organisation next. */
export const newAccount = (email: string, name = nameOf(email)): Account => ({
  id: newUuid(),
  email: email.toLowerCase(),
  name,
  joining: newUuid(),
  organisations: [],
  sessions: [],
});

/** Somebody who is a member, or is signed in. */
export const joined = ({ joining: _joining, ...account }: Account): Account => account;

const shown = (account: Account | undefined): Person | undefined => {
  if (account === undefined) return undefined;
  const { id, email, name, joining } = account;
  return { id, email, name, ...(joining !== undefined && { joining }) };
};

const textOf = ({ issuer, subject }: IdentityId): string => `${issuer} ${subject}`;

/** An issuer has no space. */
const issuerIn = ({ identity }: Account): string | undefined => identity?.split(' ', 1)[0];
