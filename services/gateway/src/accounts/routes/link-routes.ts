import {
  LinkSignInRequest,
  NewLinkRequest,
  SessionItem,
  SignInLinkItem,
} from '@runledger/contracts/http/accounts/session';
import { openOperation, openRoute, operation, route, type Route } from '../../http/operation.ts';
import { notFound, Refused } from '../../http/refusal.ts';
import { makerOf } from '../maker.ts';
import { signInPage } from '../new-sign-in-link.ts';
import type { AccountRoutes } from './account-routes.ts';
import { addMember } from './add-member.ts';
import { beginSession } from './begin-session.ts';

const signInOperation = openOperation({
  id: 'signInWithLink',
  method: 'POST',
  path: '/session/link',
  tag: 'Accounts',
  scope: 'none',
  summary: 'Sign in with a link',
  description:
    'A link signs in once, within 15 minutes. Afterwards the person may choose a password without the present one.',
  audit: { recordedWithin: 'session.created' },
  request: { body: LinkSignInRequest },
  response: {
    status: 200,
    description: 'The session.',
    body: SessionItem,
    holdsSecret: true,
    beginsSession: true,
  },
  refusals: [410],
});

const createOperation = operation({
  id: 'makeSignInLink',
  method: 'POST',
  path: '/accounts/links',
  tag: 'Accounts',
  scope: 'operator',
  summary: 'Make a link that signs a person in',
  description:
    'For a member of the organisation of the calling key who cannot sign in any more. It replaces an earlier link of the person.',
  audit: { action: 'link.created', keeps: ['expires_at'] },
  request: { body: NewLinkRequest },
  response: {
    status: 201,
    description: 'The link. It is not shown again.',
    body: SignInLinkItem,
    holdsSecret: true,
  },
  refusals: [404],
});

export const linkRoutes = (options: AccountRoutes): Route[] => {
  const { accounts, publicUrl } = options;
  const { links, memberships } = accounts;
  return [
    openRoute(signInOperation, async ({ body }, visitor, ctx) => {
      const used = await links.use(body.token, (person, org_id) =>
        addMember(options, { person, org_id, role: 'owner', operator: true }, { ctx, visitor }),
      );
      if (used === undefined) throw linkGone();
      const { person, owner_of: org_id } = used;
      return beginSession(options, { ctx, visitor }, { person, org_id, made_by: 'link' });
    }),
    route(createOperation, async ({ body }, caller) => {
      const { org_id } = caller;
      const email = body.email.toLowerCase();
      const members = await memberships.list(org_id);
      if (!members.some((member) => member.email === email)) throw notFound('Member');
      const link = await links.create({ email, made_by: makerOf(caller) });
      return { email, ...link, url: signInPage(publicUrl(), link) };
    }),
  ];
};

const linkGone = (): Refused =>
  new Refused({
    code: 'sign_in_link_gone',
    why: 'This link was used already, or it has ended: it signs in once, within 15 minutes. An operator makes another one with "runledger accounts link EMAIL", and a standalone prints one at each start',
  });
