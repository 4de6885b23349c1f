import { isOfLink, readLinkToken } from './link-token.ts';
import { mayStill, type MakerOptions } from './maker.ts';
import { newSignInLink, type LinkRequest, type NewSignInLink } from './new-sign-in-link.ts';
import type { People, Person } from './people.ts';
import type { LinkRecords } from './store/link-records.ts';

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

export interface SignInLinksOptions extends MakerOptions {
  readonly links: LinkRecords;
  readonly people: Pick<People, 'findByEmail' | 'create'>;
}

export const signInLinks = ({ links, people, ...given }: SignInLinksOptions): SignInLinks => ({
  create: (request) => newSignInLink(links, request, given.now()),
  use: async (token, makeOwner) => {
    const read = readLinkToken(token);
    const [name] = read?.names ?? [];
    const entry = name !== undefined && NAME.test(name) ? await links.find(name) : undefined;
    if (read === undefined || entry === undefined || !isOfLink(read, entry.value.sha256)) return undefined;
    const { email, owner_of, used, expires_at, made_by } = entry.value;
    if (used || Date.parse(expires_at) <= given.now().getTime()) return undefined;
    if (made_by && !(await mayStill(given, made_by, 'operator'))) return undefined;
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
