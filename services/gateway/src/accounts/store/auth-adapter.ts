import { createAdapterFactory } from 'better-auth/adapters';
import { matches, selectionOf, type Condition } from '../core/row-selection.ts';
import type { AccountRows } from './account-rows.ts';
import { tableOf, type Row, type RowTable } from '../core/row-tables.ts';

/** What the library stores, kept as rows of the bucket ACCOUNTS. The ids that it is given are UUIDs. */
export const authAdapter = (rows: AccountRows): ReturnType<typeof createAdapterFactory> => {
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
