import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Maker } from './core/maker.ts';
import { newLinkToken } from './link-token.ts';
import { linkName, linkRecords, type LinkRecords } from './store/link-records.ts';

/** A new link, which is shown once. */
export interface NewSignInLink {
  readonly token: string;
  readonly expires_at: string;
}

/** In seconds. */
export const LINK_S = 15 * 60;

export interface LinkRequest {
  readonly email: string;
  /** An operator of an organisation, who has to be one when it is used. Whoever has the credentials of the broker is not asked. */
  readonly made_by?: Maker;
  /** Whoever uses it becomes owner of this organisation, and operator; the account is made if there is none. */
  readonly owner_of?: string;
}

/** Makes a link that signs a person in, once. It replaces an earlier one of the person. @throws {LogUnavailable} */
export const newSignInLink = async (
  links: Pick<LinkRecords, 'put'>,
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
export const signInPage = (publicUrl: string, { token }: Pick<NewSignInLink, 'token'>): string =>
  `${publicUrl}/console/sign-in#token=${token}`;
