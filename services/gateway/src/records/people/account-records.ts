import { createHash } from 'node:crypto';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { perLog } from '@runledger/event-log/connect/per-log';
import { changeEntry, openBucket } from '@runledger/event-log/streams/bucket';
import { openTable } from '@runledger/event-log/table/table';
import { Type, type Static } from 'typebox';
import { Maker } from './member-records.ts';

const Uuid = Type.String({ format: 'uuid' });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
/** Short, since people see it in links. */
const Name = Type.String({ pattern: '^[0-9a-f]{32}$' });

/** Somebody is signed in. */
const SessionRecord = Type.Object({
  id: Uuid,
  /** Of both halves of its text. */
  sha256: Sha256,
  /** The organisation in which its requests act. */
  org_id: Type.Union([Uuid, Type.Null()]),
  made_by: Type.Enum(['password', 'link', 'invitation', 'oidc']),
  /** Milliseconds since 1970, by the broker's clock. */
  created_at: Type.Number(),
  expires_at: Type.Number(),
});
export type SessionRecord = Static<typeof SessionRecord>;

/** Signs the person in, once. */
const LinkRecord = Type.Object({
  sha256: Sha256,
  expires_at: Type.String({ format: 'date-time' }),
  /** An operator of an organisation, who has to be one when it is used. Left out when whoever made it has the credentials of the broker. */
  made_by: Type.Optional(Maker),
  /** Whoever uses it becomes an owner of this organisation, and an operator. */
  owner_of: Type.Optional(Uuid),
});

const Account = Type.Object({
  id: Uuid,
  /** In lower case. It never changes. */
  email: Type.String({ maxLength: 254 }),
  name: Type.String({ maxLength: 128 }),
  /** A hash. */
  password: Type.Optional(Type.String({ maxLength: 256 })),
  /** At a provider: the issuer, a space, the subject. */
  identity: Type.Optional(Type.String({ maxLength: 4_096 })),
  /** The last one that was made, until it is used. */
  link: Type.Optional(LinkRecord),
  /** Until the person is a member for the first time: which try to become one has made the account, or has taken it up. */
  joining: Type.Optional(Uuid),
  /** Noted before the person becomes a member, forgotten after the person was removed: all that the person belongs to, and perhaps one more. */
  organisations: Type.Array(Uuid),
  /** The newest last. */
  sessions: Type.Array(SessionRecord),
});
export type Account = Static<typeof Account>;

/**
 * Accounts in the bucket ACCOUNTS. `accounts.<hash of the e-mail>` is all that is stored of a person, as one record: of two with one e-mail one
 * is created, and what changes together, or goes together, does so at once. Identities are claimed beside it. Every method may throw
 * LogUnavailable, and may be called again then.
 */
export interface AccountRecords {
  find(by: 'id' | 'session', value: string): Promise<Account | undefined>;
  /** By `accountName` of the e-mail. */
  findByName(name: string): Promise<Account | undefined>;
  findByIdentity(identity: string): Promise<Account | undefined>;
  /** All that belong to it, and perhaps some more. */
  of(org_id: string): Promise<readonly Account[]>;
  /** False when there is an account with the e-mail. */
  create(account: Account): Promise<boolean>;
  /**
   * `change` is pure: it is called again when the account was changed meanwhile. Without an account as its result the account is removed.
   * Undefined when there is none, before or afterwards. An identity that it adds signs in once it is claimed.
   */
  change(id: string, change: (present: Account) => Account | undefined): Promise<Account | undefined>;
  /** Makes the identity that the account has its own; false when another account has it. */
  claimIdentity(account: Account): Promise<boolean>;
}

const MAX_TRIES = 50;

export const hashOf = (...values: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex');

export const accountName = (email: string): string => hashOf(email.toLowerCase()).slice(0, 32);

export const accountRecords = perLog((log): AccountRecords => {
  const accounts = openTable(log, {
    bucket: 'ACCOUNTS',
    prefix: 'accounts',
    schema: Account,
    keep: (account: Account) => account,
    indexes: {
      id: ({ id }: Account) => id,
      session: ({ sessions }: Account) => sessions.map(({ sha256 }) => sha256),
      organisation: ({ organisations }: Account) => organisations,
    },
  });
  /** `identities.<hash of issuer and subject>`: whose it is, while the account says the same. What a kill left of a claim is taken over. */
  const claims = openBucket(log, 'ACCOUNTS', Type.Object({ account: Name }));
  const findByName: AccountRecords['findByName'] = async (name) =>
    (await accounts.now()).get(`accounts.${name}`)?.value;
  const ownerOf = async (identity: string, account: string): Promise<Account | undefined> => {
    const owner = await findByName(account);
    return owner?.identity === identity ? owner : undefined;
  };
  const release = async (identity: string, { email }: Account): Promise<void> => {
    const claim = await claims.get(claimOf(identity));
    // Another account may have it.
    if (claim?.value.account === accountName(email)) await claims.eraseAt(claim.key, claim.revision);
  };
  return {
    find: async (by, value) => (await accounts.now()).by(by, value)?.value,
    findByName,
    findByIdentity: async (identity) => {
      const claim = await claims.get(claimOf(identity));
      return claim && ownerOf(identity, claim.value.account);
    },
    of: async (org_id) => (await accounts.now()).of('organisation', org_id).map(({ value }) => value),
    create: async (account) =>
      (await accounts.create(`accounts.${accountName(account.email)}`, account)) !== false,
    change: async (id, change) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const present = (await accounts.now()).by('id', id);
        if (present === undefined) return undefined;
        const { key, value, revision } = present;
        const changed = change(value);
        if (changed === value) return value;
        const done = changed
          ? (await accounts.update(key, changed, revision)) !== false
          : await accounts.eraseAt(key, revision);
        if (!done) continue;
        if (value.identity !== undefined && value.identity !== changed?.identity)
          await release(value.identity, value);
        return changed;
      }
      throw new LogUnavailable(`The account ${id} changes too fast to be changed. Try again.`);
    },
    claimIdentity: async ({ email, identity = '' }) => {
      const account = accountName(email);
      const decide = async (claim: { readonly account: string } | undefined) => {
        if (claim?.account === account) return { isOwn: true };
        const isTaken = claim !== undefined && (await ownerOf(identity, claim.account)) !== undefined;
        return isTaken ? { isOwn: false } : { isOwn: true, value: { account } };
      };
      const busy = 'The identity is claimed too often to be claimed. Try again.';
      return (await changeEntry(claims, claimOf(identity), decide, busy)).isOwn;
    },
  };
});

const claimOf = (identity: string): string => `identities.${hashOf(identity)}`;
