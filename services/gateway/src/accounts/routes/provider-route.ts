import { ProviderSignInItem, ProviderSignInRequest } from '@runledger/contracts/http/accounts/session';
import { CONSOLE_PATH } from '../../console/console-routes.ts';
import { openOperation, openRoute, type Route } from '../../http/operation.ts';
import { returnPath } from '../oidc/core/return-path.ts';
import { providerNotOffered } from '../oidc/provider-refusals.ts';
import type { AccountRoutes } from './account-routes.ts';

const beginOperation = openOperation({
  id: 'beginProviderSignIn',
  method: 'POST',
  path: '/session/oidc',
  tag: 'Accounts',
  scope: 'none',
  summary: 'Begin a sign-in with the provider',
  description:
    'The browser goes to the address of the response, where the person signs in, and comes back to `GET /session/oidc/callback` within 10 minutes. That sets the cookie of a session, and leads to the console; after a refusal to `/console/sign-in#refused=CODE`, with a code of a refusal. Only the browser that began it can finish it, once.',
  audit: { unrecorded: 'the person may sign in, or not: what follows is recorded' },
  request: { body: ProviderSignInRequest },
  response: {
    status: 200,
    description: 'Where the sign-in goes on.',
    body: ProviderSignInItem,
    holdsSecret: true,
  },
  refusals: [404],
});

export const providerRoute = ({ provider, pending, redirectUri }: AccountRoutes): Route =>
  openRoute(beginOperation, async ({ body }, { session }, ctx) => {
    if (provider === undefined) throw providerNotOffered();
    const { url, checks } = await provider.begin(redirectUri());
    pending.put(ctx, {
      checks,
      return_to: returnPath(body.return_to ?? undefined, CONSOLE_PATH),
      ...(typeof body.invitation === 'string' ? { invitation: body.invitation } : {}),
      ...(session === undefined ? {} : { session }),
    });
    return { url };
  });
