import type { Route } from '../../door/operation.ts';
import { acceptRoutes } from './accept-invitation.ts';
import type { AccountRoutes } from './accounts.ts';
import { invitationRoutes } from './invitation-routes.ts';
import { memberRoutes } from './member-routes.ts';
import { passwordRoute, linkRoutes } from './password-and-link-routes.ts';
import { providerRoutes } from './provider-routes.ts';
import { sessionRoutes } from './session-routes.ts';

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
