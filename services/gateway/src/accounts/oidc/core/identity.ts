/** Who signed in at the provider, as its ID token says. */
export interface Identity {
  readonly issuer: string;
  /** The provider's id of the person, which stays when everything else changes. */
  readonly subject: string;
  /** In lower case; undefined when the provider names none, or has not verified that it belongs to the person. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

/** The claims of an ID token, and of the UserInfo of the same person. */
export type Claims = Readonly<Record<string, unknown>>;

/** `isEmail`, `isName`: what the accounts accept. */
export interface AcceptedValues {
  readonly isEmail: (text: string) => boolean;
  readonly isName: (text: string) => boolean;
}

/** The identity that claims describe. Only `email_verified: true` counts, the JSON value: a text or a missing claim proves nothing. */
export const identityIn = (
  { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>,
  claims: Claims,
  { isEmail, isName }: AcceptedValues,
): Identity => {
  const { email, email_verified, name } = claims;
  const isProven = email_verified === true && typeof email === 'string' && isEmail(email);
  return {
    issuer,
    subject,
    email: isProven ? email.toLowerCase() : undefined,
    name: typeof name === 'string' && isName(name) ? name : undefined,
  };
};
