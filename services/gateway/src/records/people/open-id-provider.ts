import { Email } from '@runledger/contracts/http/accounts';
import { parsePlainJson } from '@runledger/contracts/json';
import { NewName } from '@runledger/contracts/http/fields';
import type { Logger } from '@runledger/event-log/connect/observability';
import type * as OpenIdClient from 'openid-client';
import type { CustomFetch } from 'openid-client';
import pLimit from 'p-limit';
import type { SecretBox } from '@runledger/webhooks/secret-box';
import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { bytesOf } from '../../door/json-body.ts';
import { Refused } from '../../door/refusal.ts';
import type { Kit } from '../../kit.ts';
import { isPrivateAddress, type OidcSettings } from './oidc-config.ts';

const SCOPE = 'openid email profile';
/** Each waits for the provider for some seconds at most. */
const MOST_AT_ONCE = 16;
const MOST_WAITING = 64;
const BUSY = 'Too many people sign in with the provider at once. Try again in some seconds';

/** What the accounts accept. */
const EMAIL = Compile(Email);
const NAME = Compile(NewName);

/** A provider of OpenID Connect: the authorization code flow with PKCE, state and nonce. It is asked for its endpoints at the first use. */
export const openIdProvider = ({ logger, clock }: Kit, settings: OidcSettings): IdentityProvider => {
  const issuer = new URL(settings.issuer).href;
  const discovered = openDiscovery(settings, clock);
  const limit = pLimit(MOST_AT_ONCE);
  const refusalFor = refusals(logger);
  const asking = async <Result>(work: (client: typeof OpenIdClient) => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount >= MOST_WAITING) throw providerRefusal('provider_unavailable', BUSY);
    try {
      return await limit(async () => work(await import('openid-client')));
    } catch (error) {
      throw refusalFor(error);
    }
  };
  return {
    name: settings.name,
    issuer,
    begin: (redirect_uri) =>
      asking(async (client) => {
        const configuration = await discovered(client);
        const checks = {
          state: client.randomState(),
          nonce: client.randomNonce(),
          code_verifier: client.randomPKCECodeVerifier(),
        };
        const url = client.buildAuthorizationUrl(configuration, {
          redirect_uri,
          scope: SCOPE,
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(checks.code_verifier),
          code_challenge_method: 'S256',
        });
        if (!isPrivateAddress(url))
          throw new TypeError(`The authorization endpoint of ${issuer} is not https`);
        return { url: url.href, checks };
      }),
    finish: (answer, { state, nonce, code_verifier }) =>
      asking(async (client) => {
        const configuration = await discovered(client);
        const tokens = await client.authorizationCodeGrant(configuration, answer, {
          pkceCodeVerifier: code_verifier,
          expectedState: state,
          expectedNonce: nonce,
        });
        const claims = tokens.claims();
        if (claims === undefined || new URL(claims.iss).href !== issuer)
          throw new TypeError(`The ID token is not of ${issuer}`);
        const found = await withUserInfo(client, configuration, tokens.access_token, claims);
        return identityIn({ issuer, subject: claims.sub }, found);
      }),
  };
};

/** Many providers tell the e-mail only there. The library checks that it is of the same subject. */
const withUserInfo = async (
  client: typeof OpenIdClient,
  configuration: OpenIdClient.Configuration,
  accessToken: string,
  claims: Claims & { readonly sub: string },
): Promise<Claims> => {
  const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  if (typeof claims['email'] === 'string' || !hasUserInfo) return claims;
  return { ...claims, ...(await client.fetchUserInfo(configuration, accessToken, claims.sub)) };
};

/** The operator finds the reason in the log: once, however many people a failed discovery refuses. */
const refusals = (logger: Logger): ((error: unknown) => unknown) => {
  let logged: unknown;
  return (error) => {
    if (error instanceof Refused) return error;
    if (error instanceof Error && error.name === 'AuthorizationResponseError')
      return providerRefusal('provider_refused');
    if (error !== logged) logger.warn({ err: error }, 'a sign-in with OpenID Connect failed');
    logged = error;
    return providerRefusal(isUnreachable(error) ? 'provider_unavailable' : 'provider_answer_invalid');
  };
};

/** The endpoints of the provider, and this installation as its client. */
type Discovered = (client: typeof OpenIdClient) => Promise<OpenIdClient.Configuration>;

/** In seconds: a person waits for it. */
const TIMEOUT_S = 5;
/** Providers change their endpoints, and their keys, without a word. */
const KEEP_MS = 3_600_000;
/** A provider that is down is asked once a second, however many people try. */
const KEEP_FAILURE_MS = 1_000;

interface Asked {
  readonly answer: Promise<OpenIdClient.Configuration>;
  retainedUntil: number;
}

/** Asks at the first use, and once an hour. All who need it at once wait for the same answer. */
const openDiscovery = (settings: OidcSettings, clock: () => number): Discovered => {
  let asked: Asked | undefined;
  return (client) => {
    if (asked !== undefined && clock() < asked.retainedUntil) return asked.answer;
    const asking: Asked = { answer: discover(client, settings), retainedUntil: clock() + KEEP_MS };
    asked = asking;
    asking.answer.catch(() => {
      asking.retainedUntil = clock() + KEEP_FAILURE_MS;
    });
    return asking.answer;
  };
};

const discover = (
  client: typeof OpenIdClient,
  { issuer, clientId, clientSecret }: OidcSettings,
): Promise<OpenIdClient.Configuration> => {
  const server = new URL(issuer);
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  return client.discovery(
    server,
    clientId,
    {},
    // Without a word of the provider it accepts Basic (OpenID Connect Discovery 1.0, section 3).
    (provider, ...rest) =>
      (provider.token_endpoint_auth_methods_supported ?? ['client_secret_basic']).includes(
        'client_secret_basic',
      )
        ? basic(provider, ...rest)
        : post(provider, ...rest),
    {
      timeout: TIMEOUT_S,
      [client.customFetch]: boundedFetch,
      // The signature of the ID token is checked too, though it comes from the provider itself.
      execute: [
        client.enableNonRepudiationChecks,
        ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
      ],
    },
  );
};

/** Documents of providers have a few KiB. */
const MAX_BYTES = 512 * 1024;

/** Fetches what a provider answers. @throws TypeError, as for a failed connection, when it is more than 512 KiB */
const boundedFetch: CustomFetch = async (url, options) => {
  const { body = null } = options;
  const response = await fetch(url, { ...options, body });
  const { status, statusText, headers } = response;
  const bytes = response.body && (await bytesOf(response.body, MAX_BYTES));
  if (bytes === undefined) throw new TypeError(`${url} answered with more than ${MAX_BYTES} bytes`);
  return new Response(bytes?.byteLength ? bytes : null, { status, statusText, headers });
};

/** A provider at which people sign in. Both methods throw Refused with a code that says what is wrong. */
export interface IdentityProvider {
  /** How people know it. */
  readonly name: string;
  readonly issuer: string;
  /** The address at the provider to which a browser goes, and what its answer has to fit. */
  begin(redirectUri: string): Promise<{ readonly url: string; readonly checks: SignInChecks }>;
  /** Who signed in. `answer`: the address of the redirect with the query that the provider added. */
  finish(answer: URL, checks: SignInChecks): Promise<Identity>;
}

/** Whom a provider means. */
export interface IdentityId {
  readonly issuer: string;
  /** The provider's id of the person, which stays when everything else changes. */
  readonly subject: string;
}

/** Who signed in at the provider, as its ID token says. */
export interface Identity extends IdentityId {
  /** In lower case; undefined when the provider names none, or has not verified that it belongs to the person. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

/** The claims of an ID token, and of the UserInfo of the same person. */
type Claims = Readonly<Record<string, unknown>>;

/** The identity that claims describe. Only `email_verified: true` counts, the JSON value: a text or a missing claim proves nothing. */
const identityIn = (known: IdentityId, { email, email_verified, name }: Claims): Identity => ({
  ...known,
  email: email_verified === true && EMAIL.Check(email) ? email.toLowerCase() : undefined,
  name: NAME.Check(name) ? name : undefined,
});

/** What an answer of the provider has to fit: it goes to the provider, or is kept, and comes back once. */
const SignInChecks = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  code_verifier: Type.String(),
});
type SignInChecks = Static<typeof SignInChecks>;

const PendingSignIn = Type.Object({
  checks: SignInChecks,
  /** The token of the invitation that the person accepts with it. */
  invitation: Type.Optional(Type.String()),
  /** Milliseconds since 1970. */
  expires_at: Type.Number(),
});
type PendingSignIn = Static<typeof PendingSignIn>;
const PENDING = Compile(PendingSignIn);

/**
 * Sign-ins that have gone to the provider, each as a sealed text that its page keeps: any gateway finishes it, and nothing is stored. It is in no
 * cookie, since every port of the host can set those: a program there could put its own sign-in into the browser of somebody else.
 */
export interface PendingSignIns {
  seal(pending: Omit<PendingSignIn, 'expires_at'>): Promise<string>;
  /** @throws {Refused} when it was not sealed here, has another state, or has ended */
  open(sealed: string, state: string): Promise<PendingSignIn>;
}

const PENDING_MS = 10 * 60_000;
const CONTEXT = 'oidc sign-in';

export const pendingSignIns = (box: SecretBox, time: () => Promise<Date>): PendingSignIns => ({
  seal: async (pending) =>
    box.seal(JSON.stringify({ ...pending, expires_at: (await time()).getTime() + PENDING_MS }), CONTEXT),
  open: async (sealed, state) => {
    const pending = opened(box, sealed);
    // Any page can lead the browser here with an answer of its own.
    if (pending === undefined || pending.checks.state !== state) throw providerRefusal('sign_in_not_begun');
    if (pending.expires_at <= (await time()).getTime()) throw providerRefusal('sign_in_not_begun');
    return pending;
  },
});

/** Undefined for what no gateway of this installation has sealed. */
const opened = (box: SecretBox, sealed: string): PendingSignIn | undefined => {
  try {
    const value = parsePlainJson(box.open(sealed, CONTEXT));
    return PENDING.Check(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** What a person is told. */
const WHY = {
  provider_not_offered:
    'This installation offers no sign-in with OpenID Connect: use a password or a link. An operator turns it on with RUNLEDGER_OIDC_ISSUER',
  provider_unavailable:
    'The provider at which you sign in cannot be reached now, or is too slow. Try again, or use your password',
  provider_refused:
    'The provider did not sign you in: you, or its rules for this installation, ended it. Begin again, or ask whoever runs the provider',
  provider_answer_invalid:
    'The answer of the provider does not pass the checks, so nobody is signed in. Begin again; if it stays so, an operator finds the reason in the log of the gateway',
  sign_in_not_begun:
    'This sign-in was not begun in this browser, was finished already, or took more than 10 minutes. Begin again at the sign-in page. If it stays so, open the console at the address that its operator gave you',
  identity_taken:
    'The person with this e-mail signs in with another account of the provider. Use that one, or another way to sign in',
} as const;

export const providerRefusal = (code: keyof typeof WHY, why: string = WHY[code]): Refused =>
  new Refused({ code, why });

/** Whether the provider gave no answer, or none about this sign-in. */
const isUnreachable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true;
  if (error.name === 'TypeError' && cause !== undefined) return true;
  return code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' && cause instanceof Response && cause.status >= 500;
};
