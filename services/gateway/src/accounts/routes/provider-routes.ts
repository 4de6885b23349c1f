import {
  ProviderAnswerRequest,
  ProviderSignInItem,
  ProviderSignInRequest,
  SessionItem,
} from '@runledger/contracts/http/accounts/session';
import { openOperation, openRoute, type Route } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { providerNotOffered } from '../oidc/provider-refusals.ts';
import type { AccountRoutes } from './account-routes.ts';
import { beginSession } from './begin-session.ts';
import { signInAs } from './sign-in-as.ts';

const shared = { method: 'POST', tag: 'Accounts', scope: 'none' } as const;

const beginOperation = openOperation({
  ...shared,
  id: 'beginProviderSignIn',
  path: '/session/oidc',
  summary: 'Begin a sign-in with the provider',
  description:
    'The page keeps `pending` where only pages of its own origin can read it, and leads the browser to `url`, where the person signs in. The provider leads it back to `GET /session/oidc/callback`, and that to `/console/sign-in#answer=…`, from where the page finishes the sign-in within 10 minutes.',
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

const finishOperation = openOperation({
  ...shared,
  id: 'finishProviderSignIn',
  path: '/session/oidc/answer',
  summary: 'Finish a sign-in with the provider',
  description: 'Only the page that began it can finish it, once.',
  audit: { recordedWithin: 'session.created' },
  request: { body: ProviderAnswerRequest },
  response: {
    status: 200,
    description: 'The session.',
    body: SessionItem,
    holdsSecret: true,
    beginsSession: true,
  },
  refusals: [404, 409, 410],
});

export const providerRoutes = (options: AccountRoutes): Route[] => {
  const { provider, pending, redirectUri, accounts, onRefused } = options;
  return [
    openRoute(beginOperation, async ({ body: { invitation } }) => {
      if (provider === undefined) throw providerNotOffered();
      const { url, checks } = await provider.begin(redirectUri());
      return {
        url,
        pending: pending.seal({ checks, ...(typeof invitation === 'string' && { invitation }) }),
      };
    }),
    openRoute(finishOperation, async ({ body }, visitor, ctx) => {
      if (provider === undefined) throw providerNotOffered();
      const by = { ctx, visitor };
      const { address } = visitor;
      const answer = new URL(redirectUri());
      answer.search = body.answer;
      try {
        // Of two states neither counts.
        const state = answer.searchParams.getAll('state').join(' ');
        const { checks, invitation } = pending.open(body.pending, state);
        const signedIn = await accounts.limit.attempt({ address }, async () =>
          signInAs(options, by, await provider.finish(answer, checks), invitation),
        );
        return await beginSession(options, by, { ...signedIn, made_by: 'oidc' });
      } catch (error) {
        if (error instanceof Refused) onRefused({ why: 'sign_in', address: address ?? undefined });
        throw error;
      }
    }),
  ];
};
