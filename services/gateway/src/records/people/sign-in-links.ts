import { randomBytes } from 'node:crypto';
import { polledClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { notFound } from '../../door/refusal.ts';
import type { Kit } from '../../kit.ts';
import { isSameHash, sha256Of } from '../keys/api-keys.ts';
import { accountName, accountRecords, type AccountRecords } from './account-records.ts';
import { mayStill, type Maker } from './member-records.ts';
import type { StoredAccounts } from './membership.ts';
import { newAccount, type Person } from './people.ts';
import { LINK_S } from './sessions.ts';

/** Links that sign a person in, once. Every method may throw LogUnavailable. */
export interface SignInLinks {
  /** Replaces an earlier one of the person. */
  create(request: LinkRequest): Promise<NewSignInLink>;
  /**
   * Who is signed in by it; undefined when it was used, has ended, was replaced or never existed, or whoever made it may not any more.
   * `makeOwner` is called before, where the link makes its person an owner.
   */
  use(
    token: string,
    makeOwner: (person: Person, org_id: string) => Promise<void>,
  ): Promise<SignedInByLink | undefined>;
}

interface SignedInByLink {
  readonly person: Person;
  /** The organisation of which the person has become an owner. */
  readonly owner_of: string | undefined;
}

export const signInLinks = (
  kit: Kit,
  records: AccountRecords,
  { members, people, time }: StoredAccounts,
): SignInLinks => ({
  create: async (request) => newSignInLink(records, request, await time()),
  use: async (token, makeOwner) => {
    const read = readLinkToken(token);
    const account = await records.findByName(read?.names[0] ?? '');
    const link = account?.link;
    if (!read || !link || !isOfLink(read, link.sha256)) return undefined;
    if (Date.parse(link.expires_at) <= (await time()).getTime()) return undefined;
    if (link.made_by && !(await mayStill(kit, members, link.made_by, 'operator'))) return undefined;
    // Before anything that it permits: of two at the same time, one is signed in.
    let isFirst = false;
    await records.change(account.id, (present) => {
      const { link: left, ...without } = present;
      isFirst = left?.sha256 === link.sha256;
      return isFirst ? without : present;
    });
    const person = isFirst ? await people.find(account.id) : undefined;
    if (person === undefined) return undefined;
    if (link.owner_of !== undefined) await makeOwner(person, link.owner_of);
    return { person, owner_of: link.owner_of };
  },
});

/** The token of a link, which names its record and proves that its bearer got the link. Only a hash of the secret is stored. */
interface LinkToken {
  /** In parts of letters, digits and `-`. */
  readonly names: readonly string[];
  readonly secret: string;
}

const SECRET_BYTES = 32;
const TOKEN = /^(?<names>[\w-]+(?:\.[\w-]+)*)\.(?<secret>[\w-]{43})$/;

export const newLinkToken = (
  ...names: readonly string[]
): { readonly token: string; readonly sha256: string } => {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { token: [...names, secret].join('.'), sha256: sha256Of(secret) };
};

/** Undefined for anything that `newLinkToken` did not make. */
export const readLinkToken = (token: string): LinkToken | undefined => {
  const { names, secret } = TOKEN.exec(token)?.groups ?? {};
  return names === undefined || secret === undefined ? undefined : { names: names.split('.'), secret };
};

export const isOfLink = ({ secret }: LinkToken, sha256: string): boolean =>
  isSameHash(sha256Of(secret), sha256);

/** A new link, which is shown once. */
export interface NewSignInLink {
  readonly token: string;
  readonly expires_at: string;
}

interface LinkRequest {
  readonly email: string;
  /** An operator of an organisation, who has to be one when it is used. Whoever has the credentials of the broker is not asked. */
  readonly made_by?: Maker;
  /** Whoever uses it becomes owner of this organisation, and operator; the account is made if there is none. */
  readonly owner_of?: string;
}

/** @throws {Refused} when nobody has the e-mail, and nobody becomes an owner */
const newSignInLink = async (
  records: AccountRecords,
  { email, ...request }: LinkRequest,
  now: Date,
): Promise<NewSignInLink> => {
  const name = accountName(email);
  const { token, sha256 } = newLinkToken(name);
  const expires_at = new Date(now.getTime() + LINK_S * 1_000).toISOString();
  const link = { sha256, expires_at, ...request };
  const known = await records.findByName(name);
  const isStored = known
    ? (await records.change(known.id, (present) => ({ ...present, link }))) !== undefined
    : link.owner_of !== undefined && (await records.create({ ...newAccount(email), link }));
  if (!isStored) throw notFound('Member');
  return { token, expires_at };
};

/** For whoever has the operator's credentials of the broker: a link for an owner of an organisation. @throws {LogUnavailable} */
export const newOwnerLink = async (
  log: EventLog,
  owner: Required<Pick<LinkRequest, 'email' | 'owner_of'>>,
): Promise<NewSignInLink> => {
  const now = await polledClock(log, 'KV_ACCOUNTS')();
  return newSignInLink(accountRecords(log), owner, new Date(now));
};

/** The address that a person opens: the token is in the fragment, which no server is sent. `publicUrl`: without a slash at the end. */
export const signInPage = (publicUrl: string, { token }: NewSignInLink): string =>
  `${publicUrl}/console/sign-in#token=${token}`;
