import type { Identity } from './identity.ts';

interface KnownPerson {
  readonly id: string;
  readonly email: string;
}

/** What is known when somebody has signed in at the provider. */
export interface Claimant<Account extends KnownPerson> {
  readonly identity: Pick<Identity, 'email'>;
  /** Whose identity it is already. */
  readonly linked: Account | undefined;
  /** Who has the e-mail of the identity here, and whether they are a member of an organisation. */
  readonly owner: { readonly person: Account; readonly isMember: boolean } | undefined;
  /** The invitation with which the sign-in began. */
  readonly invitation: { readonly email: string } | undefined;
  /** Who was signed in with this browser when it began. */
  readonly signedIn: string | undefined;
}

export type SignInDecision<Account extends KnownPerson> =
  | { readonly kind: 'known'; readonly person: Account }
  /** The identity becomes that of the person. Without `keepsPassword`, whoever chose the password may be somebody else. */
  | { readonly kind: 'link'; readonly person: Account; readonly keepsPassword: boolean }
  | { readonly kind: 'create'; readonly email: string }
  | {
      readonly kind: 'refused';
      readonly why: 'email_not_verified' | 'person_unknown' | 'invitation_for_another';
    };

/** Who is signed in. An identity stays with its person, whatever the e-mail is later; before, only a verified e-mail says whose it is. */
export const decideSignIn = <Account extends KnownPerson>(
  claimant: Claimant<Account>,
): SignInDecision<Account> => {
  const { identity, linked, owner, invitation, signedIn } = claimant;
  const email = linked?.email ?? identity.email;
  if (email === undefined) return { kind: 'refused', why: 'email_not_verified' };
  if (invitation !== undefined && invitation.email !== email)
    return { kind: 'refused', why: 'invitation_for_another' };
  if (linked !== undefined) return { kind: 'known', person: linked };
  if (owner === undefined)
    return invitation ? { kind: 'create', email } : { kind: 'refused', why: 'person_unknown' };
  const { person, isMember } = owner;
  if (!isMember && invitation === undefined) return { kind: 'refused', why: 'person_unknown' };
  return { kind: 'link', person, keepsPassword: signedIn === person.id };
};
