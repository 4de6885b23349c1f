import type { IncomingMessage } from 'node:http';

/** The bearer credential of a request (RFC 6750); undefined when it has none. */
export const bearerOf = ({ headers }: IncomingMessage): string | undefined =>
  /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
