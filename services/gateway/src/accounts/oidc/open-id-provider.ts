import { Email } from '@runledger/contracts/http/accounts/members';
import { NewName } from '@runledger/contracts/http/fields/names';
import type { Logger } from '@runledger/event-log/connect/logger';
import type * as OpenIdClient from 'openid-client';
import pLimit from 'p-limit';
import { Compile } from 'typebox/compile';
import { Refused } from '../../http/refusal.ts';
import { identityIn, type Claims } from './core/identity.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { openDiscovery, type DiscoveryOptions } from './discovery.ts';
import { isPrivateAddress } from './oidc-config.ts';
import {
  isUnreachable,
  providerBusy,
  providerInvalid,
  providerRefused,
  providerUnavailable,
} from './provider-refusals.ts';

export interface OpenIdProviderOptions extends DiscoveryOptions {
  readonly logger: Logger;
}

const SCOPE = 'openid email profile';
/** Each waits for the provider for some seconds at most. */
const MOST_AT_ONCE = 16;
const MOST_WAITING = 64;

const accepted = {
  isEmail: (text: string) => EMAIL.Check(text),
  isName: (text: string) => NAME.Check(text),
};
const EMAIL = Compile(Email);
const NAME = Compile(NewName);

/** A provider of OpenID Connect: the authorization code flow with PKCE, state and nonce. It is asked for its endpoints at the first use. */
export const openIdProvider = (options: OpenIdProviderOptions): IdentityProvider => {
  const { settings, logger } = options;
  const issuer = new URL(settings.issuer).href;
  const discovered = openDiscovery(options);
  const limit = pLimit(MOST_AT_ONCE);
  const refusalFor = refusals(logger);
  const asking = async <Result>(work: (client: typeof OpenIdClient) => Promise<Result>): Promise<Result> => {
    if (limit.pendingCount >= MOST_WAITING) throw providerBusy();
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
        const known = { issuer, subject: claims.sub };
        return identityIn(
          known,
          await withUserInfo(client, configuration, tokens.access_token, claims),
          accepted,
        );
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

/** What a person is told. The operator finds the reason in the log: once, however many people a failed discovery refuses. */
const refusals = (logger: Logger): ((error: unknown) => unknown) => {
  let logged: unknown;
  return (error) => {
    if (error instanceof Refused) return error;
    if (error instanceof Error && error.name === 'AuthorizationResponseError') return providerRefused();
    if (error !== logged) logger.warn({ err: error }, 'a sign-in with OpenID Connect failed');
    logged = error;
    return isUnreachable(error) ? providerUnavailable() : providerInvalid();
  };
};
