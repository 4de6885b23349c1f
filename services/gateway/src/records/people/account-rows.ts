import { createHash } from 'node:crypto';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { Type, type Static } from 'typebox';

/** Under the hash of unique values, and under the owner: which row it is. */
const Reference = Type.Object({ id: Type.String({ maxLength: 64 }) });

/** Another row has the same unique values. */
export class RowExists extends Error {
  override readonly name = 'RowExists';
}

/**
 * The rows of people, their sessions and their ways to sign in, in the bucket ACCOUNTS:
 *
 * - `rows.<table>.<id>`: the row; a secret of it is a hash
 * - `unique.<table>.<hash of the unique values>`: its id. It is claimed first, and the broker stores the row only while the claim is
 *   unchanged: of several rows with one e-mail at the same time, one is stored.
 * - `owned.<table>.<owner>.<id>`: its id, written before the row and erased after it, so the list of an owner has every row
 *
 * A crash may leave a claim or an entry of a list without a row, which the next one with these values takes over.
 * Every method may throw LogUnavailable.
 */
export interface AccountRows {
  find(table: RowTable, id: string): Promise<Row | undefined>;
  /** `values` in the order of the table's unique fields. */
  findUnique(table: RowTable, values: readonly string[]): Promise<Row | undefined>;
  listOwned(table: RowTable, owner: string): Promise<Row[]>;
  /** @throws {RowExists} */
  create(table: RowTable, row: Row): Promise<void>;
  /** `change` is pure: it is called again when the row was changed meanwhile. Undefined when there is no such row. */
  change(table: RowTable, id: string, change: (present: Row) => Row): Promise<Row | undefined>;
  remove(table: RowTable, row: Row): Promise<void>;
}

const MAX_TRIES = 20;

export const hashOf = (...values: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex');

export const accountRows = (log: EventLog): AccountRows => {
  const rows = openBucket(log, 'ACCOUNTS', Row);
  const references = openBucket(log, 'ACCOUNTS', Reference);
  const find: AccountRows['find'] = async (table, id) => (await rows.get(rowKey(table, id)))?.value;

  /** The claim of unique values for a row that is stored next. @throws {RowExists} */
  const claim = async (table: RowTable, key: string, id: string): Promise<number> => {
    const created = await references.create(key, { id });
    if (created !== false) return created;
    const present = await references.get(key);
    if (present === undefined || (await find(table, present.value.id))) throw new RowExists(table.name);
    // Whoever claimed it was interrupted, or stores its row now.
    const taken = await references.update(key, { id }, present.revision);
    if (taken === false) throw new RowExists(table.name);
    // From now on the other one cannot store its row any more. It may have, just before.
    if (await find(table, present.value.id)) {
      await references.update(key, present.value, taken);
      throw new RowExists(table.name);
    }
    return taken;
  };

  return {
    find,
    findUnique: async (table, values) => {
      const reference = await references.get(uniqueKey(table, values));
      return reference && find(table, reference.value.id);
    },
    listOwned: async (table, owner) => {
      const listed = await references.list(`owned.${table.name}.${owner}`);
      const found = await Promise.all(listed.map(({ value }) => find(table, value.id)));
      return found.filter((row) => row !== undefined);
    },
    create: async (table, row) => {
      const { id } = named(row);
      const key = uniqueKey(table, uniqueValues(table, row));
      const revision = await claim(table, key, id);
      const owned = ownedKey(table, row);
      if (owned !== undefined) await references.put(owned, { id });
      const stored = await rows.putWhile(rowKey(table, id), sealed(table, row), { key, revision });
      if (stored !== false) return;
      if (owned !== undefined) await references.erase(owned);
      throw new RowExists(table.name);
    },
    change: async (table, id, change) => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const present = await rows.get(rowKey(table, id));
        if (present === undefined) return undefined;
        const changed = change(present.value);
        if ((await rows.update(rowKey(table, id), changed, present.revision)) !== false) return changed;
      }
      throw new LogUnavailable(`The row ${id} of ${table.name} changes too fast to be changed. Try again.`);
    },
    remove: async (table, row) => {
      const { id } = named(row);
      const key = storedUniqueKey(table, row);
      await rows.erase(rowKey(table, id));
      const reference = await references.get(key);
      // Another row may have taken over the claim meanwhile.
      if (reference?.value.id === id) await references.eraseAt(key, reference.revision);
      const owned = ownedKey(table, row);
      if (owned !== undefined) await references.erase(owned);
    },
  };
};

const named = (row: Row): { readonly id: string } => ({ id: String(row['id']) });
const rowKey = ({ name }: RowTable, id: string): string => `rows.${name}.${id}`;
const uniqueKey = ({ name }: RowTable, values: readonly string[]): string =>
  `unique.${name}.${hashOf(...values)}`;
const uniqueValues = ({ unique }: RowTable, row: Row): string[] => unique.map((field) => String(row[field]));

/** Of a row as it is stored, whose secret is a hash already. */
const storedUniqueKey = (table: RowTable, row: Row): string =>
  table.secret === undefined
    ? uniqueKey(table, uniqueValues(table, row))
    : `unique.${table.name}.${String(row[table.secret])}`;

const ownedKey = ({ name, owner }: RowTable, row: Row): string | undefined =>
  owner === undefined ? undefined : `owned.${name}.${String(row[owner])}.${named(row).id}`;

/** The row as it is stored. */
const sealed = ({ secret }: RowTable, row: Row): Row => {
  const value: Field = secret === undefined ? null : (row[secret] ?? null);
  return secret === undefined || typeof value !== 'string' ? row : { ...row, [secret]: hashOf(value) };
};

/** A row of the authentication library: its fields by their names. Times are ISO 8601. */
export const Row = Type.Record(
  Type.String({ pattern: '^[A-Za-z_]{1,64}$' }),
  Type.Union([Type.String({ maxLength: 4_096 }), Type.Number(), Type.Boolean(), Type.Null()]),
);
export type Row = Static<typeof Row>;
export type Field = Row[string];

/** Which rows a kind has. */
export interface RowTable {
  readonly name: TableName;
  /** No two rows agree in all of these, which never change. */
  readonly unique: readonly string[];
  /** The field that names the person whose row it is. Their rows can be listed. */
  readonly owner?: string;
  /** A field that is stored as a hash: whoever reads the bucket cannot use it. */
  readonly secret?: string;
}

type TableName = 'user' | 'session' | 'account';

export const TABLES: Readonly<Record<TableName, RowTable>> = {
  user: { name: 'user', unique: ['email'] },
  session: { name: 'session', unique: ['token'], owner: 'userId', secret: 'token' },
  account: { name: 'account', unique: ['providerId', 'accountId'], owner: 'userId' },
};

/** @throws TypeError for a table that the library has only with features that we do not use */
export const tableOf = (name: string): RowTable => {
  const table = Object.values(TABLES).find((one) => one.name === name);
  if (table) return table;
  throw new TypeError(
    `The accounts have no table ${name}. A feature of better-auth needs it: describe it in row-tables.ts, or do not use the feature.`,
  );
};
