import { randomBytes } from 'node:crypto';
import { isSameHash, sha256Of } from '../auth/key-text.ts';

/** The token of a link, which names its record and proves that its bearer got the link. Only a hash of the secret is stored. */
export interface LinkToken {
  /** In parts of letters, digits and `-`. */
  readonly names: readonly string[];
  readonly secret: string;
}

const SECRET_BYTES = 32;
const TOKEN = /^(?<names>[\w-]+(?:\.[\w-]+)*)\.(?<secret>[\w-]{43})$/;

export const newLinkToken = (
  ...names: readonly string[]
): { readonly token: string; readonly sha256: string } => {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { token: [...names, secret].join('.'), sha256: sha256Of(secret) };
};

/** Undefined for anything that `newLinkToken` did not make. */
export const readLinkToken = (token: string): LinkToken | undefined => {
  const { names, secret } = TOKEN.exec(token)?.groups ?? {};
  return names === undefined || secret === undefined ? undefined : { names: names.split('.'), secret };
};

export const isOfLink = ({ secret }: LinkToken, sha256: string): boolean =>
  isSameHash(sha256Of(secret), sha256);
