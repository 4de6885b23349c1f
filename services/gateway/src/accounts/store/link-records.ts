import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import { Type, type Static } from 'typebox';
import { Maker } from '../core/maker.ts';
import { hashOf } from './account-rows.ts';

const SignInLink = Type.Object({
  /** In lower case. */
  email: Type.String({ maxLength: 254 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  expires_at: Type.String({ format: 'date-time' }),
  used: Type.Boolean(),
  /** Left out when whoever made it has the credentials of the broker. */
  made_by: Type.Optional(Maker),
  /** Whoever uses it becomes an owner of this organisation, and an operator. The account is made when there is none. */
  owner_of: Type.Optional(Type.String({ format: 'uuid' })),
});
type SignInLink = Static<typeof SignInLink>;

/** `links.<hash of the e-mail>` in the bucket ACCOUNTS: a person has one at most, and a later one replaces it. Every method may throw LogUnavailable. */
export interface LinkRecords {
  /** The name that `find` takes. */
  put(link: SignInLink): Promise<void>;
  find(name: string): Promise<Entry<SignInLink> | undefined>;
  /** False when it was used meanwhile. */
  use(entry: Entry<SignInLink>): Promise<boolean>;
  erase(email: string): Promise<void>;
}

/** Short, since people see it in links. */
export const linkName = (email: string): string => hashOf(email).slice(0, 32);

export const linkRecords = (log: EventLog): LinkRecords => {
  const bucket = openBucket(log, 'ACCOUNTS', SignInLink);
  const keyOf = (name: string): string => `links.${name}`;
  return {
    put: async (link) => {
      await bucket.put(keyOf(linkName(link.email)), link);
    },
    find: (name) => bucket.get(keyOf(name)),
    use: async ({ key, value, revision }) =>
      (await bucket.update(key, { ...value, used: true }, revision)) !== false,
    erase: (email) => bucket.erase(keyOf(linkName(email))),
  };
};
