import type { Static, TSchema } from 'typebox';
import { at, Nothing, type ApiCall, type ApiRequest } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { listPages, type ListOptions, type Page } from '../command/list-pages.ts';
import { inColumns, rowLines, type Column, type Rows } from '../command/table.ts';

type Members = Readonly<Record<string, unknown>>;

interface SomeRecords {
  /** At the start of a sentence, such as `Machine`. */
  readonly what: string;
  /** The path of the collection, such as `/machines`. */
  readonly path: string;
}

/** How one record of the catalogue is read and shown. */
export interface SingleRecords<Item> extends SomeRecords {
  /** The id of a record from what a person gives: its id, or what stands for it. @throws CommandError */
  readonly idOf: (call: ApiCall, given: string) => Promise<string>;
  readonly send: (call: ApiCall, request: ApiRequest) => Promise<Item>;
  /** May read what the item has the id of only. */
  readonly rows: (item: Item, call: ApiCall) => Rows | Promise<Rows>;
  /** Its name for people. */
  readonly nameOf: (item: Item) => string;
}

/** How a list of records is read and shown. */
export interface ListedRecords<Item> extends SomeRecords {
  readonly readPage: (call: ApiCall, request: ApiRequest) => Promise<Page<Item>>;
  readonly columns: readonly Column<Item>[];
}

export interface RecordKind<Item> extends SingleRecords<Item>, ListedRecords<Item> {}

export interface RecordListOptions extends ListOptions {
  readonly archived?: boolean;
  /** For the query. */
  readonly filter?: Members;
}

/** Reads pages of this schema, whose items are this member. */
export const pagesOf =
  <Schema extends TSchema, Item>(
    schema: Schema,
    itemsOf: (page: Static<Schema>) => readonly Item[],
  ): ListedRecords<Item>['readPage'] =>
  async (call, request) => {
    const page = await call(schema, request);
    return { items: itemsOf(page), next_cursor: (page as Page<Item>).next_cursor };
  };

export const listRecords = <Item>(
  { call, screen }: Client,
  { what, path, readPage, columns }: ListedRecords<Item>,
  { archived, filter, ...options }: RecordListOptions,
): Promise<void> =>
  listPages(screen, options, {
    readPage: (span) => readPage(call, { method: 'GET', path, query: { ...filter, ...span, archived } }),
    ...inColumns(screen, columns),
    none: `There is no ${archived ? 'archived ' : ''}${what.toLowerCase()}.`,
  });

export const readRecord = async <Item>(
  call: ApiCall,
  { path, send, idOf }: SingleRecords<Item>,
  given: string,
): Promise<Item> => send(call, { method: 'GET', path: path + at`/${await idOf(call, given)}` });

/** For `M=$(runledger machines create …)` the output is its id alone when it is no terminal. */
export const createRecord = async <Item extends { readonly id: string }>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  body: Members,
): Promise<Item> => {
  const item = await postRecord(call, kind, body);
  if (screen.isTerminal) await showRecord({ call, screen }, kind, item);
  else screen.result(item, () => item.id);
  return item;
};

/** `given` stands for the record. @throws CommandError without a change */
export const changeRecord = async <Item>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  given: string,
  change: Members,
): Promise<void> => {
  if (Object.values(change).every((value) => value === undefined))
    throw new CommandError('No change was given. Use at least one option, such as --name.');
  await showRecord({ call, screen }, kind, await patchRecord(call, kind, given, change));
};

/** Archives a record, or restores it. `restoredBy`: the command that does that. */
export const archiveRecord = async <Item>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  given: string,
  { archived, restoredBy }: { readonly archived: boolean; readonly restoredBy: (item: Item) => string },
): Promise<void> =>
  screen.result(await patchRecord(call, kind, given, { archived }), (item) => {
    const what = `${kind.what} ${plain(kind.nameOf(item))}`;
    return archived
      ? `${what} is archived. Restore it with: ${plain(restoredBy(item))}`
      : `${what} is restored.`;
  });

/** There is no way back, so the service deletes only what was archived before. */
export const deleteRecord = async <Item>(
  { call, screen }: Client,
  { what, path, idOf }: SingleRecords<Item>,
  given: string,
): Promise<void> => {
  const id = await idOf(call, given);
  await call(Nothing, { method: 'DELETE', path: path + at`/${id}` });
  screen.result({ id, deleted: true }, () => `${what} ${plain(given)} is deleted.`);
};

export const postRecord = <Item>(
  call: ApiCall,
  { path, send }: SingleRecords<Item>,
  body: Members,
): Promise<Item> => send(call, { method: 'POST', path, body });

export const patchRecord = async <Item>(
  call: ApiCall,
  { path, send, idOf }: SingleRecords<Item>,
  given: string,
  body: Members,
): Promise<Item> => send(call, { method: 'PATCH', path: path + at`/${await idOf(call, given)}`, body });

export const showRecord = async <Item>(
  { call, screen }: Pick<Client, 'call' | 'screen'>,
  kind: SingleRecords<Item>,
  item: Item,
): Promise<void> => {
  const rows = screen.isJson() ? [] : await kind.rows(item, call);
  screen.result(item, () => rowLines(screen, rows));
};

/** The first rows of every record with a name. */
export const firstRows = ({ id, name }: { readonly id: string; readonly name: string }): Rows => [
  ['id', id],
  ['name', name],
];

/** The last rows of every record. */
export const lastRows = ({
  archived,
  created_at,
}: {
  readonly archived: boolean;
  readonly created_at: string;
}): Rows => [
  ['created', created_at, 'time'],
  ['archived', archived ? 'yes' : null],
];
