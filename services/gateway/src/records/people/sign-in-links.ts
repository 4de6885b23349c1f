import { randomBytes } from 'node:crypto';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import { Type, type Static } from 'typebox';
import type { Kit } from '../../kit.ts';
import { mayStill, Maker, type MemberRecords } from './member-records.ts';
import type { People, Person } from './people.ts';
import { isSameHash, sha256Of } from '../keys/api-keys.ts';
import { hashOf } from './account-rows.ts';

/** Links that sign a person in, once. Every method may throw LogUnavailable. */
export interface SignInLinks {
  /** Replaces an earlier one of the person. */
  create(request: LinkRequest): Promise<NewSignInLink>;
  /**
   * Who is signed in by it; undefined when it was used, has ended, was replaced or never existed, or whoever made it may not any more.
   * `makeOwner` is called before, where the link makes its person an owner.
   */
  use(token: string, makeOwner: MakeOwner): Promise<SignedInByLink | undefined>;
}

type MakeOwner = (person: Person, org_id: string) => Promise<void>;

interface SignedInByLink {
  readonly person: Person;
  /** The organisation of which the person has become an owner. */
  readonly owner_of: string | undefined;
}

export const signInLinks = (
  kit: Kit,
  members: MemberRecords,
  links: LinkRecords,
  people: People,
): SignInLinks => ({
  create: (request) => newSignInLink(links, request, kit.now()),
  use: async (token, makeOwner) => {
    const read = readLinkToken(token);
    const [name] = read?.names ?? [];
    const entry = name !== undefined && NAME.test(name) ? await links.find(name) : undefined;
    if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256)) return undefined;
    const { email, owner_of, used, expires_at, made_by } = entry.value;
    if (used || Date.parse(expires_at) <= kit.now().getTime()) return undefined;
    if (made_by && !(await mayStill(kit, members, made_by, 'operator'))) return undefined;
    // Before anything that it permits: of two at the same time, one is signed in.
    if (!(await links.use(entry))) return undefined;
    const known = await people.findByEmail(email);
    if (owner_of === undefined) return known && { person: known, owner_of };
    const person = known ?? (await people.create(email, nameOf(email))) ?? (await people.findByEmail(email));
    if (person === undefined) return undefined;
    await makeOwner(person, owner_of);
    return { person, owner_of };
  },
});

const NAME = /^[0-9a-f]{32}$/;
/** What a person is called who did not say. */
export const nameOf = (email: string): string => email.split('@', 1)[0] ?? email;

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

/** In seconds. */
export const LINK_S = 15 * 60;

interface LinkRequest {
  readonly email: string;
  /** An operator of an organisation, who has to be one when it is used. Whoever has the credentials of the broker is not asked. */
  readonly made_by?: Maker;
  /** Whoever uses it becomes owner of this organisation, and operator; the account is made if there is none. */
  readonly owner_of?: string;
}

/** Makes a link that signs a person in, once. It replaces an earlier one of the person. @throws {LogUnavailable} */
const newSignInLink = async (
  links: LinkRecords,
  { email: given, ...request }: LinkRequest,
  now: Date,
): Promise<NewSignInLink> => {
  const email = given.toLowerCase();
  const { token, sha256 } = newLinkToken(linkName(email));
  const expires_at = new Date(now.getTime() + LINK_S * 1_000).toISOString();
  await links.put({ email, sha256, expires_at, used: false, ...request });
  return { token, expires_at };
};

/** For whoever has the operator's credentials of the broker: a link for an owner of an organisation. @throws {LogUnavailable} */
export const newOwnerLink = (
  log: EventLog,
  owner: Required<Pick<LinkRequest, 'email' | 'owner_of'>>,
  now: Date,
): Promise<NewSignInLink> => newSignInLink(linkRecords(log), owner, now);

/** The address that a person opens: the token is in the fragment, which no server is sent. `publicUrl`: without a slash at the end. */
export const signInPage = (publicUrl: string, { token }: NewSignInLink): string =>
  `${publicUrl}/console/sign-in#token=${token}`;

const SignInLink = Type.Object({
  /** In lower case. */
  email: Type.String({ maxLength: 254 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  expires_at: Type.String({ format: 'date-time' }),
  used: Type.Boolean(),
  /** Left out when whoever made it has the credentials of the broker. */
  made_by: Type.Optional(Maker),
  /** Whoever uses it becomes an owner of this organisation, and an operator. The account is made when there is none. */
  owner_of: Type.Optional(Type.String({ format: 'uuid' })),
});
type SignInLink = Static<typeof SignInLink>;

/** `links.<hash of the e-mail>` in the bucket ACCOUNTS: a person has one at most, and a later one replaces it. Every method may throw LogUnavailable. */
export interface LinkRecords {
  /** The name that `find` takes. */
  put(link: SignInLink): Promise<void>;
  find(name: string): Promise<Entry<SignInLink> | undefined>;
  /** False when it was used meanwhile. */
  use(entry: Entry<SignInLink>): Promise<boolean>;
  erase(email: string): Promise<void>;
}

/** Short, since people see it in links. */
const linkName = (email: string): string => hashOf(email).slice(0, 32);

export const linkRecords = (log: EventLog): LinkRecords => {
  const bucket = openBucket(log, 'ACCOUNTS', SignInLink);
  const keyOf = (name: string): string => `links.${name}`;
  return {
    put: async (link) => {
      await bucket.put(keyOf(linkName(link.email)), link);
    },
    find: (name) => bucket.get(keyOf(name)),
    use: async ({ key, value, revision }) =>
      (await bucket.update(key, { ...value, used: true }, revision)) !== false,
    erase: (email) => bucket.erase(keyOf(linkName(email))),
  };
};
