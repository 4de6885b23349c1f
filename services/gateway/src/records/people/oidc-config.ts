import { NewName } from '@runledger/contracts/http/fields';
import type { ConfigProblem } from '@runledger/service-kit/config';
import { secret } from '@runledger/service-kit/config-schemas';
import { Type, type Static, type TObject } from 'typebox';
import { Value } from 'typebox/value';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether nobody between here and there can read or change what is sent. */
export const isPrivateAddress = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));

const isIssuer = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && isPrivateAddress(url) && url.search + url.hash + url.username + url.password === '';
};

/** The environment variables of the sign-in with OpenID Connect: to spread into the configuration schema. */
export const oidcConfig = {
  RUNLEDGER_OIDC_ISSUER: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 1_024,
        description:
          'the issuer of an OpenID Connect provider, as its discovery document has it, for example https://accounts.google.com: people sign in with it; not set, with passwords and links only',
      }),
      isIssuer,
      () =>
        'is no issuer: an https address (http on this machine only) without query, fragment, name and password',
    ),
  ),
  RUNLEDGER_OIDC_CLIENT_ID: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'the id that the OpenID Connect provider gave the client',
    }),
  ),
  RUNLEDGER_OIDC_CLIENT_SECRET: Type.Optional(
    secret({ description: 'the secret that the OpenID Connect provider gave the client' }),
  ),
  RUNLEDGER_OIDC_NAME: Type.Refine(
    Type.String({
      maxLength: 64,
      default: 'your organisation',
      description: 'how people know the OpenID Connect provider: the button says "Sign in with" and this',
    }),
    (text) => Value.Check(NewName, text),
    () => 'is blank, or has control characters or characters that change the direction of text',
  ),
};

export type OidcConfig = Static<TObject<typeof oidcConfig>>;

/** A provider at which people sign in, and this installation as its client. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
}

const NEEDED = [
  'RUNLEDGER_OIDC_ISSUER',
  'RUNLEDGER_OIDC_CLIENT_ID',
  'RUNLEDGER_OIDC_CLIENT_SECRET',
] as const satisfies (keyof OidcConfig)[];

/** When some of the settings are there, and not all that they need. */
export const oidcProblems = (config: Partial<OidcConfig>): ConfigProblem[] => {
  const present = NEEDED.filter((variable) => config[variable] !== undefined);
  if (present.length === 0) return [];
  return NEEDED.filter((variable) => config[variable] === undefined).map((variable) => ({
    variable,
    wrong: `is not set, and ${present.join(' and ')} ${present.length === 1 ? 'is' : 'are'}`,
    right: 'set too, or all three unset, which turns the sign-in with OpenID Connect off',
  }));
};

/** Undefined when it is off. */
export const oidcSettings = (config: OidcConfig): OidcSettings | undefined => {
  const {
    RUNLEDGER_OIDC_ISSUER: issuer,
    RUNLEDGER_OIDC_CLIENT_ID: clientId,
    RUNLEDGER_OIDC_CLIENT_SECRET: clientSecret,
    RUNLEDGER_OIDC_NAME: name,
  } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret, name };
};
