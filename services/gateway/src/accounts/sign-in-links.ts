import { isOfLink, readLinkToken } from './link-token.ts';
import { newSignInLink, type NewSignInLink } from './new-sign-in-link.ts';
import type { People, Person } from './people.ts';
import type { LinkRecords } from './store/link-records.ts';

/** Links that sign a person in, once. Every method may throw LogUnavailable. */
export interface SignInLinks {
  /** Replaces an earlier one of the person. `owner_of`: whoever uses it becomes owner of this organisation, and operator; the account is made if there is none. */
  create(email: string, owner_of?: string): Promise<NewSignInLink>;
  /**
   * Who is signed in by it; undefined when it was used, has ended, was replaced or never existed. `makeOwner` is called before, where the
   * link makes its person an owner.
   */
  use(token: string, makeOwner: MakeOwner): Promise<SignedInByLink | undefined>;
}

type MakeOwner = (person: Person, org_id: string) => Promise<void>;

interface SignedInByLink {
  readonly person: Person;
  /** The organisation of which the person has become an owner. */
  readonly owner_of: string | undefined;
}

export interface SignInLinksOptions {
  readonly links: LinkRecords;
  readonly people: Pick<People, 'findByEmail' | 'create'>;
  readonly now: () => Date;
}

export const signInLinks = ({ links, people, now }: SignInLinksOptions): SignInLinks => ({
  create: (email, owner_of) =>
    newSignInLink(links, { email, ...(owner_of === undefined ? {} : { owner_of }) }, now()),
  use: async (token, makeOwner) => {
    const read = readLinkToken(token);
    const [name] = read?.names ?? [];
    const entry = name !== undefined && NAME.test(name) ? await links.find(name) : undefined;
    if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256)) return undefined;
    const { email, owner_of, used, expires_at } = entry.value;
    if (used || Date.parse(expires_at) <= now().getTime()) return undefined;
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
