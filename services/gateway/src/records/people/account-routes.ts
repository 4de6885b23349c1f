import { secretBox } from '@runledger/webhooks/secret-box';
import { sessionHalves } from '../../door/credentials.ts';
import type { Route } from '../../door/operation.ts';
import type { Kit } from '../../kit.ts';
import type { Audit } from '../audit/audit.ts';
import { acceptRoutes } from './accept-invitation.ts';
import type { Accounts } from './accounts.ts';
import { invitationRoutes, memberRoutes } from './member-routes.ts';
import { oidcSettings } from './oidc-config.ts';
import { openIdProvider, pendingSignIns } from './open-id-provider.ts';
import { passwordRoute, linkRoutes } from './password-and-link-routes.ts';
import { providerRoutes } from './provider-routes.ts';
import { sessionRoutes } from './session-routes.ts';

/** The operations for people. */
export const accountRoutes = (kit: Kit, accounts: Accounts, audit: Audit): Route[] => {
  const { config } = kit;
  const settings = oidcSettings(config);
  const shared = {
    kit,
    accounts,
    audit,
    halves: sessionHalves(config.RUNLEDGER_PUBLIC_URL),
    provider: settings && openIdProvider(kit, settings),
    pending: pendingSignIns(secretBox(config.RUNLEDGER_SECRET_KEYS), accounts.time),
  };
  return [
    ...sessionRoutes(shared),
    ...linkRoutes(shared),
    ...providerRoutes(shared),
    passwordRoute(shared),
    ...memberRoutes(shared),
    ...invitationRoutes(shared),
    ...acceptRoutes(shared),
  ];
};
