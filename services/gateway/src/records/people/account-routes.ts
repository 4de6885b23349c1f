import type { RecordAction } from '@runledger/event-log/audit/record-action';
import type { OnCredentialRefused } from '../../door/caller.ts';
import type { SessionHalves } from '../../door/session-halves.ts';
import type { Route } from '../../door/operation.ts';
import type { Accounts } from './accounts.ts';
import type { IdentityProvider } from './open-id-provider.ts';
import type { PendingSignIns } from './pending-sign-ins.ts';
import { acceptRoutes } from './accept-invitation.ts';
import { invitationRoutes } from './invitation-routes.ts';
import { memberRoutes } from './member-routes.ts';
import { passwordRoute, linkRoutes } from './password-and-link-routes.ts';
import { providerRoutes } from './provider-routes.ts';
import { sessionRoutes } from './session-routes.ts';

export interface AccountRoutes {
  readonly accounts: Accounts;
  readonly halves: SessionHalves;
  readonly record: RecordAction;
  readonly onRefused: OnCredentialRefused;
  readonly findOrganisation: (
    id: string,
  ) => Promise<{ readonly id: string; readonly name: string } | undefined>;
  /** The address for browsers, without a slash at the end. */
  readonly publicUrl: () => string;
  /** At which people sign in beside passwords and links; undefined without one. */
  readonly provider: IdentityProvider | undefined;
  readonly pending: PendingSignIns;
  /** To which the provider leads browsers back. */
  readonly redirectUri: () => string;
  readonly now: () => Date;
}

/** The operations for people. */
export const accountRoutes = (options: AccountRoutes): Route[] => [
  ...sessionRoutes(options),
  ...linkRoutes(options),
  ...providerRoutes(options),
  passwordRoute(options),
  ...memberRoutes(options),
  ...invitationRoutes(options),
  ...acceptRoutes(options),
];
