import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

/** Somebody who has an account at the provider. */
export interface ProviderAccount {
  /** The id at the provider. */
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
}

/** A certified OpenID Connect provider on a socket of this machine. Its page asks for the id of an account, and for no password. */
export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** It leads browsers back to no other address than this one. */
  registerRedirect(uri: string): Promise<void>;
  /** A later account with the same id replaces it. */
  setAccount(account: ProviderAccount): void;
}

const INTERACTION = '/interaction/';

export const anOpenIdProvider = async (): Promise<OpenIdProvider> => {
  const accounts = new Map<string, ProviderAccount>();
  const client = { clientId: 'runledger', clientSecret: randomBytes(24).toString('hex') };
  let answer: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // A listening TCP server has such an address.
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' };
  return {
    issuer,
    ...client,
    registerRedirect: async (uri) => {
      const provider = providerFor(issuer, { ...client, uri, jwk }, accounts);
      const rest = provider.callback();
      answer = (request, response) => {
        if (request.url?.startsWith(INTERACTION)) void interact(provider, request, response);
        else void rest(request, response);
      };
    },
    setAccount: (account) => void accounts.set(account.sub, account),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

interface Registered {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly uri: string;
  readonly jwk: object;
}

const providerFor = (
  issuer: string,
  { clientId: client_id, clientSecret: client_secret, uri, jwk }: Registered,
  accounts: ReadonlyMap<string, ProviderAccount>,
): Provider =>
  new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [uri] }],
    jwks: { keys: [jwk] },
    cookies: { keys: [randomBytes(24).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `${INTERACTION}${uid}` },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_ctx, sub) => {
      const account = accounts.get(sub);
      return account && { accountId: sub, claims: () => ({ ...account }) };
    },
    // Whoever signs in permits what the client wants.
    loadExistingGrant: async (ctx) => {
      const { client, session, provider } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });

const FORM = `<!doctype html><html lang="en"><title>The provider</title>
<form method="post"><label>Account <input name="account" required></label>
<button>Continue</button> <button name="denied" value="yes" formnovalidate>Go back</button></form></html>`;

/** Asks who signs in, and believes it. */
const interact = async (
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  if (request.method !== 'POST') {
    response.writeHead(200, { 'content-type': 'text/html' }).end(FORM);
    return;
  }
  const form = new URLSearchParams(await text(request));
  const result = form.has('denied')
    ? { error: 'access_denied', error_description: 'The person went back' }
    : { login: { accountId: String(form.get('account')) } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
};
