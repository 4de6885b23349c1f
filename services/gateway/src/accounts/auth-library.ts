import { newUuid } from '@runledger/contracts/ids';
import type { Logger } from '@runledger/event-log/connect/logger';
import { APIError, betterAuth, type Auth, type BetterAuthOptions } from 'better-auth';
import { authAdapter } from './store/auth-adapter.ts';
import type { AccountRows } from './store/account-rows.ts';

export interface AuthLibrary {
  readonly context: Awaited<Auth['$context']>;
  /**
   * The token of a session that it begins. Undefined when the e-mail and the password do not belong together, in the same time for an
   * unknown e-mail.
   */
  signIn(email: string, password: string): Promise<string | undefined>;
}

/** It is loaded at the first use: a gateway without people starts faster. */
export type OpenAuthLibrary = () => Promise<AuthLibrary>;

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
export const openAuthLibrary = async (options: AuthLibraryOptions): Promise<AuthLibrary> => {
  const { api, $context } = betterAuth(settingsOf(options));
  return {
    context: await $context,
    signIn: async (email, password) => {
      try {
        return (await api.signInEmail({ body: { email, password } })).token;
      } catch (error) {
        if (error instanceof APIError && error.statusCode < 500) return undefined;
        throw error;
      }
    },
  };
};

const settingsOf = ({ rows, secret, logger }: AuthLibraryOptions): BetterAuthOptions => ({
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
