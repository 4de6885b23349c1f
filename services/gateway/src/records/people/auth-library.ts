import { newUuid } from '@runledger/contracts/ids';
import type { Logger } from '@runledger/event-log/connect/observability';
import { APIError, betterAuth, type Auth, type BetterAuthOptions } from 'better-auth';
import { createAdapterFactory } from 'better-auth/adapters';
import { tableOf, type AccountRows, type Row, type RowTable, type Field } from './account-rows.ts';

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

/** What the library stores, kept as rows of the bucket ACCOUNTS. The ids that it is given are UUIDs. */
const authAdapter = (rows: AccountRows): ReturnType<typeof createAdapterFactory> => {
  const found = async (table: RowTable, where: readonly Condition[]): Promise<Row[]> => {
    const candidates = await candidatesFor(rows, table, where);
    return candidates.filter((row) => matches(table, row, where));
  };
  const changed = async (
    table: RowTable,
    where: readonly Condition[],
    update: Readonly<Record<string, unknown>>,
  ): Promise<Row[]> => {
    const fixed = [...table.unique, table.owner].find((field) => field !== undefined && field in update);
    if (fixed !== undefined)
      throw new TypeError(`The field ${fixed} of ${table.name} never changes: make another row.`);
    const selected = await found(table, where);
    const all = await Promise.all(
      selected.map(({ id }) => rows.change(table, String(id), (row) => ({ ...row, ...rowOf(update) }))),
    );
    return all.filter((row) => row !== undefined);
  };
  const removed = async (table: RowTable, where: readonly Condition[]): Promise<number> => {
    const selected = await found(table, where);
    await Promise.all(selected.map((row) => rows.remove(table, row)));
    return selected.length;
  };
  return createAdapterFactory({
    config: {
      adapterId: 'runledger',
      supportsDates: false,
      supportsNumericIds: false,
      supportsBooleans: true,
      transaction: false,
    },
    // The library knows the fields of its tables.
    adapter: () => ({
      create: async ({ model, data }) => {
        await rows.create(tableOf(model), rowOf(data));
        return data;
      },
      findOne: async <Found>({ model, where = [] }: Query) => {
        const [row] = await found(tableOf(model), where);
        return (row ? withSecret(tableOf(model), row, where) : null) as Found | null;
      },
      findMany: async <Found>({ model, where = [], limit }: Query & { readonly limit: number }) =>
        (await found(tableOf(model), where)).slice(0, limit) as Found[],
      update: async <Found>({ model, where = [], update }: Query & { readonly update: Found }) =>
        ((await changed(tableOf(model), where, Object(update)))[0] ?? null) as Found | null,
      updateMany: async ({ model, where, update }) => (await changed(tableOf(model), where, update)).length,
      delete: async ({ model, where }) => {
        await removed(tableOf(model), where);
      },
      deleteMany: ({ model, where }) => removed(tableOf(model), where),
      count: async ({ model, where = [] }) => (await found(tableOf(model), where)).length,
    }),
  });
};

interface Query {
  readonly model: string;
  readonly where?: readonly Condition[] | undefined;
}

const candidatesFor = async (
  rows: AccountRows,
  table: RowTable,
  where: readonly Condition[],
): Promise<Row[]> => {
  const selection = selectionOf(table, where);
  switch (selection.by) {
    case 'id':
      return asList(await rows.find(table, selection.id));
    case 'unique':
      return asList(await rows.findUnique(table, selection.values));
    case 'owner':
      return rows.listOwned(table, selection.owner);
  }
};

const asList = (row: Row | undefined): Row[] => (row === undefined ? [] : [row]);

/** Whoever finds a row by its secret has it: the library goes on with it. */
const withSecret = ({ secret }: RowTable, row: Row, where: readonly Condition[]): Row => {
  const given = where.find(({ field }) => field === secret)?.value;
  return secret === undefined || typeof given !== 'string' ? row : { ...row, [secret]: given };
};

/** The bucket validates what is stored. */
const rowOf = (data: Readonly<Record<string, unknown>>): Row => data as Row;

/** A condition of the authentication library. All of a list have to hold. */
interface Condition {
  readonly field: string;
  /** `eq` when left out. */
  readonly operator?: string | undefined;
  readonly value: unknown;
  readonly connector?: string | undefined;
}

/** How the rows that conditions may match are found without a look at all rows. */
type Selection =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'unique'; readonly values: readonly string[] }
  | { readonly by: 'owner'; readonly owner: string };

/**
 * The bounded read that finds every row which the conditions match; `matches` then decides about each.
 * @throws TypeError when only a look at all rows would find them
 */
const selectionOf = (table: RowTable, where: readonly Condition[]): Selection => {
  const valueOf = (field: string): string | undefined => {
    const found = where.find((one) => one.field === field && (one.operator ?? 'eq') === 'eq');
    return typeof found?.value === 'string' ? found.value : undefined;
  };
  if (where.length > 1 && where.some(({ connector }) => connector === 'OR')) throw notBounded(table, where);
  const id = valueOf('id');
  if (id !== undefined) return { by: 'id', id };
  const values = table.unique.flatMap((field) => valueOf(field) ?? []);
  if (values.length === table.unique.length) return { by: 'unique', values };
  const owner = table.owner === undefined ? undefined : valueOf(table.owner);
  if (owner !== undefined) return { by: 'owner', owner };
  throw notBounded(table, where);
};

/** Whether a row fits all conditions. A secret was compared when the row was found. */
const matches = (table: RowTable, row: Row, where: readonly Condition[]): boolean =>
  where.every((one) => one.field === table.secret || holds(one, row[one.field] ?? null));

const holds = ({ field, operator = 'eq', value: given }: Condition, stored: Field): boolean => {
  switch (operator) {
    case 'eq':
      return stored === given;
    case 'ne':
      return stored !== given;
    case 'in':
      return Array.isArray(given) && given.includes(stored);
    case 'gt':
      return compared(stored, given) > 0;
    case 'gte':
      return compared(stored, given) >= 0;
    case 'lt':
      return compared(stored, given) < 0;
    case 'lte':
      return compared(stored, given) <= 0;
    default:
      throw new TypeError(
        `The accounts cannot compare ${field} with ${operator}. Add the operator to row-selection.ts.`,
      );
  }
};

/** Times are texts that sort as they follow each other. NaN, which no condition accepts, for anything else. */
const compared = (stored: Field, given: unknown): number => {
  if (typeof stored !== 'string' || typeof given !== 'string') return Number.NaN;
  return stored === given ? 0 : stored < given ? -1 : 1;
};

const notBounded = ({ name }: RowTable, where: readonly Condition[]): TypeError =>
  new TypeError(
    `Rows of ${name} are found by id, by unique fields or by their owner, not by ${where.map(({ field }) => field).join(', ') || 'nothing'}: add what the feature needs to row-tables.ts.`,
  );
