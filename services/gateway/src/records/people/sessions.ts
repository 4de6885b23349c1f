import { halvesOf, newSessionText } from '../../door/credentials.ts';
import type { OpenAuthLibrary } from './auth-library.ts';
import { TABLES, type AccountRows, type Row } from './account-rows.ts';

const WAYS = ['password', 'link', 'invitation', 'oidc'] as const;
export type MadeBy = (typeof WAYS)[number];

/** A person is signed in. */
export interface Session {
  readonly id: string;
  readonly user_id: string;
  /** The organisation in which its requests act. */
  readonly org_id: string | null;
  readonly made_by: MadeBy;
  /** Milliseconds since 1970. */
  readonly created_at: number;
  readonly expires_at: number;
}

/** The sessions of people. Only a hash of the text of a session is stored. Every method may throw LogUnavailable. */
export interface Sessions {
  /** Undefined when it is unknown or has ended. */
  find(text: string): Promise<Session | undefined>;
  findById(id: string): Promise<Session | undefined>;
  begin(
    user_id: string,
    org_id: string | null,
    made_by: MadeBy,
  ): Promise<{ readonly text: string; readonly session: Session }>;
  choose(id: string, org_id: string): Promise<void>;
  end(id: string): Promise<void>;
  /** All of a person, but this one. */
  endOthers(user_id: string, but: string | undefined): Promise<void>;
}

/** The oldest ends when a person signs in once more. */
const MOST_OF_A_PERSON = 20;

export const sessions = (rows: AccountRows, library: OpenAuthLibrary, now: () => Date): Sessions => {
  const table = TABLES.session;
  const live = (row: Row | undefined): Session | undefined => {
    const session = row && sessionIn(row);
    return session && session.expires_at > now().getTime() ? session : undefined;
  };
  const end = async (id: string): Promise<void> => {
    const row = await rows.find(table, id);
    if (row) await rows.remove(table, row);
  };
  return {
    find: async (text) => (halvesOf(text) ? live(await rows.findUnique(table, [text])) : undefined),
    findById: async (id) => live(await rows.find(table, id)),
    begin: async (user_id, org_id, made_by) => {
      const present = (await rows.listOwned(table, user_id)).map(sessionIn);
      const oldest = present.toSorted((one, other) => other.created_at - one.created_at);
      await Promise.all(oldest.slice(MOST_OF_A_PERSON - 1).map(({ id }) => end(id)));
      const { internalAdapter } = (await library()).context;
      const text = newSessionText();
      const made = await internalAdapter.createSession(
        user_id,
        false,
        { org_id, made_by, token: text },
        true,
      );
      const session = {
        id: made.id,
        user_id,
        org_id,
        made_by,
        created_at: made.createdAt.getTime(),
        expires_at: made.expiresAt.getTime(),
      };
      return { text, session };
    },
    choose: async (id, org_id) => {
      await rows.change(table, id, (row) => ({ ...row, org_id }));
    },
    end,
    endOthers: async (user_id, but) => {
      const present = await rows.listOwned(table, user_id);
      await Promise.all(present.filter(({ id }) => id !== but).map((row) => rows.remove(table, row)));
    },
  };
};

const sessionIn = (row: Row): Session => {
  const { id, userId, org_id = null, made_by, createdAt, expiresAt } = row;
  return {
    id: String(id),
    user_id: String(userId),
    org_id: typeof org_id === 'string' ? org_id : null,
    made_by: WAYS.find((way) => way === made_by) ?? 'password',
    created_at: Date.parse(String(createdAt)),
    expires_at: Date.parse(String(expiresAt)),
  };
};
