import type { Context } from 'koa';
import { CONSOLE_PATH } from '../../console/console-routes.ts';
import type { PlainRoute } from '../../http/plain-route.ts';
import type { Visitor } from '../../http/operation.ts';
import { Refused, type Refusal } from '../../http/refusal.ts';
import type { PendingSignIn } from '../oidc/pending-sign-ins.ts';
import { providerNotOffered } from '../oidc/provider-refusals.ts';
import type { AccountRoutes } from './account-routes.ts';
import { beginSession } from './begin-session.ts';
import { signInAs } from './sign-in-as.ts';

export interface ProviderCallback extends AccountRoutes {
  readonly basePath: string;
  /** Of the client; null when the connection was closed already. */
  readonly addressOf: (ctx: Context) => string | null;
  /** The refusal for anything that was thrown. */
  readonly refusalOf: (error: unknown) => Refusal;
}

const PATH = '/session/oidc/callback';

/** The address to register at the provider. `publicUrl`: without a slash at the end. */
export const redirectUri = (
  publicUrl: string,
  { RUNLEDGER_BASE_PATH }: { readonly RUNLEDGER_BASE_PATH: string },
): string => `${publicUrl}${RUNLEDGER_BASE_PATH}${PATH}`;

const SEE_OTHER = 303;

/**
 * `GET /session/oidc/callback`: a browser comes back from the provider, which is another site, so no session counts. What proves that the
 * sign-in is its own is the cookie with which it began. It is led to a page, also after a refusal, with its code in the fragment.
 */
export const providerCallback = (options: ProviderCallback): PlainRoute => ({
  method: 'GET',
  path: `${options.basePath}${PATH}`,
  needsLog: true,
  serve: async (ctx) => {
    const { publicUrl, onRefused, refusalOf, addressOf } = options;
    const address = addressOf(ctx);
    ctx.status = SEE_OTHER;
    try {
      const page = await finish(options, ctx, address);
      ctx.set('Location', `${publicUrl()}${page}`);
    } catch (error) {
      if (error instanceof Refused) onRefused({ why: 'sign_in', address: address ?? undefined });
      const { code } = refusalOf(error);
      // A program gets the refusal itself.
      if (code === 'internal_error' || ctx.accepts('html', 'json') === 'json') throw error;
      ctx.set('Location', `${publicUrl()}${CONSOLE_PATH}/sign-in#refused=${code}`);
    }
  },
});

/** The page to which the browser goes. @throws {Refused} */
const finish = async (options: ProviderCallback, ctx: Context, address: string | null): Promise<string> => {
  const { provider, pending, redirectUri, accounts } = options;
  if (provider === undefined) throw providerNotOffered();
  const begun = pending.take(ctx, ctx.query['state']);
  const answer = new URL(redirectUri());
  answer.search = ctx.querystring;
  const by = { ctx, visitor: visitorOf(begun, address) };
  const signedIn = await accounts.limit.attempt({ address }, async () => {
    const identity = await provider.finish(answer, begun.checks);
    return signInAs(options, by, identity, begun.invitation);
  });
  await beginSession(options, by, { ...signedIn, made_by: 'oidc' });
  return begun.return_to;
};

/** The session is the one with which our own page began. */
const visitorOf = ({ session }: PendingSignIn, address: string | null): Visitor => ({ address, session });
