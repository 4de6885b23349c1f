import { at, Nothing, type ApiCall, type ApiRequest } from '../api/api-call.ts';
import type { Client, Json } from '../command/command-context.ts';
import { EXIT, CommandError, type ExitCode, plain } from '../command/command-error.ts';
import { listPages, type ListOptions, type Page } from '../command/list-pages.ts';
import type { Screen } from '../command/screen.ts';
import { headLine, printRows, rowLine, type Column, type Rows } from '../command/table.ts';

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
  readonly rows: (item: Item) => Rows;
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

export const listRecords = <Item>(
  { call, screen }: Client,
  { what, path, readPage, columns }: ListedRecords<Item>,
  { archived, filter, ...options }: RecordListOptions,
): Promise<ExitCode> =>
  listPages(screen, options, {
    readPage: (span) => readPage(call, { method: 'GET', path, query: { ...filter, ...span, archived } }),
    head: headLine(screen, columns),
    line: (item) => rowLine(screen, columns, item),
    none: `There is no ${archived ? 'archived ' : ''}${what.toLowerCase()}.`,
  });

export const readRecord = async <Item>(
  call: ApiCall,
  { path, send, idOf }: SingleRecords<Item>,
  given: string,
): Promise<Item> => send(call, { method: 'GET', path: path + at`/${await idOf(call, given)}` });

interface Creation {
  readonly body: Members;
  readonly json: boolean | undefined;
}

/** For `M=$(runledger machines create …)` the output is its id alone when it is no terminal. */
export const createRecord = async <Item extends { readonly id: string }>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  { body, json }: Creation,
): Promise<ExitCode> => {
  return showCreated(screen, kind, { item: await postRecord(call, kind, body), json });
};

export const showCreated = <Item extends { readonly id: string }>(
  screen: Screen,
  kind: SingleRecords<Item>,
  { item, json }: { readonly item: Item; readonly json: boolean | undefined },
): ExitCode => {
  if (screen.isTerminal || json) return showRecord(screen, kind, { item, json });
  screen.print(item.id);
  return EXIT.done;
};

interface Change {
  /** What stands for the record. */
  readonly given: string;
  readonly change: Members;
  readonly json: boolean | undefined;
}

/** @throws CommandError without a change */
export const changeRecord = async <Item>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  { given, change, json }: Change,
): Promise<ExitCode> => {
  if (Object.values(change).every((value) => value === undefined))
    throw new CommandError('No change was given. Use at least one option, such as --name.');
  const item = await patchRecord(call, kind, { given, body: change });
  return showRecord(screen, kind, { item, json });
};

interface Archiving<Item> extends Json {
  readonly given: string;
  readonly archived: boolean;
  /** The command that restores it. */
  readonly restoredBy: (item: Item) => string;
}

export const archiveRecord = async <Item>(
  { call, screen }: Client,
  kind: SingleRecords<Item>,
  { given, archived, restoredBy, json }: Archiving<Item>,
): Promise<ExitCode> => {
  const item = await patchRecord(call, kind, { given, body: { archived } });
  const what = `${kind.what} ${plain(kind.nameOf(item))}`;
  if (json) screen.printJson(item);
  else if (archived) screen.print(`${what} is archived. Restore it with: ${plain(restoredBy(item))}`);
  else screen.print(`${what} is restored.`);
  return EXIT.done;
};

/** There is no way back, so the service deletes only what was archived before. */
export const deleteRecord = async <Item>(
  { call, screen }: Client,
  { what, path, idOf }: SingleRecords<Item>,
  { given, json }: Json & { readonly given: string },
): Promise<ExitCode> => {
  const id = await idOf(call, given);
  await call(Nothing, { method: 'DELETE', path: path + at`/${id}` });
  if (json) screen.printJson({ id, deleted: true });
  else screen.print(`${what} ${plain(given)} is deleted.`);
  return EXIT.done;
};

export const postRecord = <Item>(
  call: ApiCall,
  { path, send }: SingleRecords<Item>,
  body: Members,
): Promise<Item> => send(call, { method: 'POST', path, body });

export const patchRecord = async <Item>(
  call: ApiCall,
  { path, send, idOf }: SingleRecords<Item>,
  { given, body }: { readonly given: string; readonly body: Members },
): Promise<Item> => send(call, { method: 'PATCH', path: path + at`/${await idOf(call, given)}`, body });

export const showRecord = <Item>(
  screen: Screen,
  { rows }: SingleRecords<Item>,
  { item, json }: { readonly item: Item; readonly json: boolean | undefined },
): ExitCode => {
  if (json) screen.printJson(item);
  else printRows(screen, rows(item));
  return EXIT.done;
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
