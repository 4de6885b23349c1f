import { createHash, timingSafeEqual } from 'node:crypto';

/** The setting with the token of a health server. */
export const HEALTH_TOKEN_SETTING = 'RUNLEDGER_HEALTH_TOKEN';

/** What a header can carry as a bearer token (RFC 6750), and too long to be guessed. */
export const HEALTH_TOKEN_PATTERN = String.raw`^[A-Za-z0-9._~+/-]{32,255}=*$`;

/** The header with which a request names the token. */
export const healthTokenHeader = (token: string): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
});

/** Whether the header `Authorization` of a request names the token. Takes the same time wherever the two differ. */
export const namesToken = (authorization: string | undefined, token: string): boolean => {
  const [, named] = /^bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? [];
  return named !== undefined && timingSafeEqual(sha256(named), sha256(token));
};

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
