import type { Command } from 'commander';
import type { ApiCall } from '../api-call.ts';
import { EXIT, Explained } from '../explained.ts';
import type { ExitCode } from '../explained.ts';
import { USUAL_LIMIT, listPages } from '../list-pages.ts';
import type { ListOptions, Page } from '../list-pages.ts';
import { plain } from '../plain-text.ts';
import type { Json, ProgramParts } from '../program-parts.ts';
import type { Screen } from '../screen.ts';
import { headLine, printRows, rowLine } from '../table.ts';
import type { Column, Rows } from '../table.ts';

interface CatalogueRecord {
  readonly id: string;
  readonly name: string;
  readonly archived: boolean;
}

/** How the records of a kind are had and shown. */
export interface RecordKind<Item extends CatalogueRecord> {
  /** As it begins a sentence, such as `Machine`. */
  readonly what: string;
  readonly list: (call: ApiCall, query: Readonly<Record<string, unknown>>) => Promise<Page<Item>>;
  readonly read: (call: ApiCall, id: string) => Promise<Item>;
  readonly change: (call: ApiCall, id: string, change: Readonly<Record<string, unknown>>) => Promise<Item>;
  readonly columns: readonly Column<Item>[];
  readonly rows: (item: Item) => Rows;
}

export interface RecordListOptions extends ListOptions {
  readonly archived?: boolean;
}

/** A list of records, newest first. */
export const addRecordList = (
  { add }: ProgramParts,
  parent: Command,
  name: string,
  description: string,
): Command =>
  add(parent, name, description)
    .option('--archived', 'the archived ones instead of the others')
    .option('--limit <number>', 'at most so many', USUAL_LIMIT);

export const listRecords = <Item>(
  screen: Screen,
  { archived, ...options }: RecordListOptions,
  { what, columns }: { readonly what: string; readonly columns: readonly Column<Item>[] },
  readPage: (query: Readonly<Record<string, unknown>>) => Promise<Page<Item>>,
): Promise<ExitCode> =>
  listPages(screen, options, {
    readPage: (span) => readPage({ ...span, archived }),
    head: headLine(columns),
    line: (item) => rowLine(columns, item),
    none: `There is no ${archived ? 'archived ' : ''}${what.toLowerCase()}.`,
  });

export const showRecord = <Item>(
  screen: Screen,
  item: Item,
  rows: (item: Item) => Rows,
  json: boolean | undefined,
): ExitCode => {
  if (json) screen.printJson(item);
  else printRows(screen, rows(item));
  return EXIT.done;
};

/** @throws Explained when there is nothing to change */
export const givenChange = (change: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  if (Object.values(change).some((value) => value !== undefined)) return change;
  throw new Explained('Nothing to change was named. Name at least one option, such as --name.');
};

/** `show`, `archive` and `restore`. */
export const addRecordCommands = <Item extends CatalogueRecord>(
  { client, end, add }: ProgramParts,
  group: Command,
  kind: RecordKind<Item>,
): void => {
  const noun = kind.what.toLowerCase();
  add(group, `show <${noun}>`, `show a ${noun}`).action(async (id: string, { json }: Json) => {
    const { call, screen } = await client();
    end(showRecord(screen, await kind.read(call, id), kind.rows, json));
  });
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(group, `${name} <${noun}>`, description).action(async (id: string, { json }: Json) => {
      const { call, screen } = await client();
      const item = await kind.change(call, id, { archived });
      if (json) screen.printJson(item);
      else screen.print(archivingSentence(kind.what, item));
      end(EXIT.done);
    });
  };
  addArchiving('archive', `put a ${noun} away: nothing new is made of it`, true);
  addArchiving('restore', `bring an archived ${noun} back`, false);
};

const archivingSentence = (what: string, { id, name, archived }: CatalogueRecord): string =>
  archived
    ? `${what} ${plain(name)} is archived. Bring it back with: runledger ${what.toLowerCase()}s restore ${plain(id)}`
    : `${what} ${plain(name)} is in use again.`;

/** Of every record, before what is its own. */
export const commonRows = ({ id, name }: CatalogueRecord): Rows => [
  ['id', id],
  ['name', name],
];

/** And behind it. */
export const lastRows = ({
  archived,
  created_at,
}: {
  readonly archived: boolean;
  readonly created_at: string;
}): Rows => [
  ['created', created_at],
  ['archived', archived ? 'yes' : null],
];
