import type { OpenAuthLibrary } from './auth-library.ts';
import { TABLES, type Row } from './core/row-tables.ts';
import { personIn, type Person } from './people.ts';
import { RowExists, type AccountRows } from './store/account-rows.ts';
import type { Identity } from './oidc/core/identity.ts';

type IdentityId = Pick<Identity, 'issuer' | 'subject'>;

/**
 * Which identity of a provider is whose. An identity is one person's: its row is claimed by issuer and subject. A person has one identity
 * of a provider: the row of the person names it, and is changed by compare-and-set. Only where both agree, the identity signs in.
 * Every method may throw LogUnavailable, and may be called again then.
 */
export interface Identities {
  personOf(identity: IdentityId): Promise<Person | undefined>;
  /**
   * False when the person has another identity of the provider, or the identity is another person's. `prepare` is called when nothing
   * forbids it, before the identity signs in.
   */
  link(user_id: string, identity: IdentityId, prepare: () => Promise<void>): Promise<boolean>;
  /** The provider at which the person signs in; undefined when the person does not. */
  issuerOf(user_id: string): Promise<string | undefined>;
}

export const identities = (rows: AccountRows, library: OpenAuthLibrary): Identities => {
  const ownerOf = async ({ issuer, subject }: IdentityId): Promise<string | undefined> => {
    const row = await rows.findUnique(TABLES.account, [providerIdOf(issuer), subject]);
    return row && String(row['userId']);
  };
  return {
    personOf: async (identity) => {
      const owner = await ownerOf(identity);
      const row = owner === undefined ? undefined : await rows.find(TABLES.user, owner);
      return row?.[FIELD] === textOf(identity) ? personIn(row) : undefined;
    },
    link: async (user_id, identity, prepare) => {
      const before = await ownerOf(identity);
      if (before !== undefined && before !== user_id) return false;
      const text = textOf(identity);
      const named = await rows.change(TABLES.user, user_id, (row) =>
        issuerIn(row) === identity.issuer ? row : { ...row, [FIELD]: text },
      );
      if (named?.[FIELD] !== text) return false;
      await prepare();
      if (before === user_id) return true;
      try {
        const { internalAdapter } = (await library()).context;
        await internalAdapter.linkAccount({
          userId: user_id,
          providerId: providerIdOf(identity.issuer),
          accountId: identity.subject,
        });
        return true;
      } catch (error) {
        if (!(error instanceof RowExists)) throw error;
        if ((await ownerOf(identity)) === user_id) return true;
        // Another person got it at the same moment.
        await rows.change(TABLES.user, user_id, (row) =>
          row[FIELD] === text ? { ...row, [FIELD]: null } : row,
        );
        return false;
      }
    },
    issuerOf: async (user_id) => {
      const row = await rows.find(TABLES.user, user_id);
      return row && issuerIn(row);
    },
  };
};

/** Of the row of a person. */
const FIELD = 'identity';

const providerIdOf = (issuer: string): string => `oidc ${issuer}`;

const textOf = ({ issuer, subject }: IdentityId): string => `${issuer} ${subject}`;

/** An issuer has no space. */
const issuerIn = ({ [FIELD]: text }: Row): string | undefined =>
  typeof text === 'string' ? text.split(' ', 1)[0] : undefined;
