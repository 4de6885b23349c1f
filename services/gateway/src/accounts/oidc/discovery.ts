import type * as OpenIdClient from 'openid-client';
import { boundedFetch } from './bounded-fetch.ts';
import type { OidcSettings } from './oidc-config.ts';

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
  keptUntil: number;
}

export interface DiscoveryOptions {
  readonly settings: OidcSettings;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Asks at the first use, and once an hour. All who need it at once wait for the same answer. */
export const openDiscovery = ({ settings, clock }: DiscoveryOptions): Discovered => {
  let asked: Asked | undefined;
  return (client) => {
    if (asked !== undefined && clock() < asked.keptUntil) return asked.answer;
    const asking: Asked = { answer: discover(client, settings), keptUntil: clock() + KEEP_MS };
    asked = asking;
    asking.answer.catch(() => {
      asking.keptUntil = clock() + KEEP_FAILURE_MS;
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
