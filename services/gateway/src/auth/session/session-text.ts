import { randomBytes } from 'node:crypto';

/**
 * The text of a session has two halves, each of 256 random bits. One is in a cookie, which a browser sends to every port of its host; the
 * other one is the token, which only pages of our own origin have. A session is found by the hash of both.
 */
interface Halves {
  readonly cookie: string;
  readonly token: string;
}

const HALF_BYTES = 32;
const TEXT = /^(?<cookie>[\w-]{43})\.(?<token>[\w-]{43})$/;

export const newSessionText = (): string => textOf({ cookie: newHalf(), token: newHalf() });

export const textOf = ({ cookie, token }: Halves): string => `${cookie}.${token}`;

/** Undefined for anything that `newSessionText` did not make. */
export const halvesOf = (text: string): Halves | undefined => {
  const { cookie, token } = TEXT.exec(text)?.groups ?? {};
  return cookie === undefined || token === undefined ? undefined : { cookie, token };
};

const newHalf = (): string => randomBytes(HALF_BYTES).toString('base64url');
