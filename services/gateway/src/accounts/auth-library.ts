import { newUuid } from '@runledger/contracts/ids';
import type { Logger } from '@runledger/event-log/connect/logger';
import { betterAuth, type Auth, type BetterAuthOptions } from 'better-auth';
import { authAdapter } from './store/auth-adapter.ts';
import type { AccountRows } from './store/account-rows.ts';

export type AuthLibrary = Pick<Auth, 'api' | '$context'>;

export interface AuthLibraryOptions {
  readonly rows: AccountRows;
  /** At least 32 characters. Nothing that is stored depends on it. */
  readonly secret: string;
  readonly logger: Logger;
}

/** In seconds. A session is not prolonged: it ends a week after the sign-in. */
const SESSION_S = 7 * 24 * 3_600;

/**
 * The library that makes accounts and sessions, hashes passwords with scrypt and compares them. It is used through its functions only:
 * its routes are not served, it counts nothing and sends nothing.
 */
export const authLibrary = ({ rows, secret, logger }: AuthLibraryOptions): AuthLibrary =>
  betterAuth<BetterAuthOptions>({
    appName: 'Runledger',
    // Nothing is sent there, and no cookie of the library is used. Without it the library would read variables of its own.
    baseURL: 'http://localhost',
    secrets: [{ version: 1, value: secret }],
    database: authAdapter(rows),
    emailAndPassword: { enabled: true, disableSignUp: true, minPasswordLength: 1, maxPasswordLength: 128 },
    session: {
      expiresIn: SESSION_S,
      disableSessionRefresh: true,
      cookieCache: { enabled: false },
      additionalFields: {
        org_id: { type: 'string', required: false, input: false },
        made_by: { type: 'string', required: false, input: false },
      },
    },
    advanced: { database: { generateId: () => newUuid() } },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // What it calls a warning is a refused sign-in.
    logger: { log: (level, message) => logger.debug({ level }, `better-auth: ${message}`) },
  });
