import { isUuid } from '@runledger/contracts/ids';
import type { Command } from 'commander';
import { Schedule, SchedulePage } from '@runledger/contracts/http/catalogue/schedules';
import type { ApiCall } from '../api/api-call.ts';
import { CommandError, plain } from '../command/command-error.ts';
import {
  type ListedRecords,
  type SingleRecords,
  archiveRecord,
  deleteRecord,
  readRecord,
  showRecord,
  type RecordKind,
} from './records.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { Json, CommandContext } from '../command/command-context.ts';

type Named<Item> = Pick<ListedRecords<Item>, 'what' | 'path' | 'readPage'>;

/** Of several records with one name, as many are shown. */
const CANDIDATES = 10;

/** The error for a name that several records have. `noun`: what they are. `list`: the command that lists them. */
export const ambiguous = (
  noun: string,
  name: string,
  { items, list }: { readonly items: readonly Identified[]; readonly list: string },
): CommandError => {
  const lines = items.slice(0, CANDIDATES).map(({ id, created_at }) => `  ${id}  created ${created_at}`);
  const more = items.length > CANDIDATES ? [`  and more: ${list}`] : [];
  return new CommandError(
    [`More than one ${noun} has the name ${plain(name)}. Use an id:`, ...lines, ...more].join('\n'),
  );
};

interface Identified {
  readonly id: string;
  readonly created_at: string;
}

/** The record with this name; undefined when there is none. @throws CommandError when several have it */
export const recordNamed = async <Item extends Identified>(
  call: ApiCall,
  { what, path, readPage }: Named<Item>,
  { name, archived }: { readonly name: string; readonly archived: boolean },
): Promise<Item | undefined> => {
  const { items } = await readPage(call, {
    method: 'GET',
    path,
    query: { name, archived, limit: CANDIDATES + 1 },
  });
  if (items.length < 2) return items[0];
  const [noun, option] = archived
    ? [`archived ${what.toLowerCase()}`, ' --archived']
    : [what.toLowerCase(), ''];
  throw ambiguous(noun, name, { items, list: `runledger ${path.slice(1)} list${option}` });
};

/**
 * Finds the id of a record: what is given is its id, or the name that no other record has. Archived ones come last.
 * @throws CommandError
 */
export const idByName =
  (kind: Named<Identified>): SingleRecords<unknown>['idOf'] =>
  async (call, given) => {
    if (isUuid(given)) return given;
    const found =
      (await recordNamed(call, kind, { name: given, archived: false })) ??
      (await recordNamed(call, kind, { name: given, archived: true }));
    if (found !== undefined) return found.id;
    throw new CommandError(
      `No ${kind.what.toLowerCase()} has the name or the id ${plain(given)}. List them with: runledger ${kind.path.slice(1)} list`,
    );
  };

/** The id of an option that names a record; undefined without the option. @throws CommandError */
export const optionalId = async (
  call: ApiCall,
  { idOf }: Pick<SingleRecords<unknown>, 'idOf'>,
  given: string | undefined,
): Promise<string | undefined> => (given === undefined ? undefined : idOf(call, given));

/** Adds a list of records, newest first. The caller adds its action. */
export const addRecordList = (
  { add }: CommandContext,
  group: Command,
  { name, description }: { readonly name: string; readonly description: string },
): Command =>
  add(group, name, description)
    .option('--archived', 'list archived records instead')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT);

export const addRecordShow = <Item extends { readonly id: string }>(
  { client, end, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const noun = kind.what.toLowerCase();
  add(group, `show <${noun}>`, `show a ${noun}`).action(async (given: string, { json }: Json) => {
    const { call, screen } = await client();
    end(showRecord(screen, kind, { item: await readRecord(call, kind, given), json }));
  });
};

export const addRecordDeletion = <Item extends { readonly id: string }>(
  { client, end, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
  description: string,
): void => {
  add(group, `delete <${kind.what.toLowerCase()}>`, description).action(
    async (given: string, { json = false }: Json) =>
      end(await deleteRecord(await client(), kind, { given, json })),
  );
};

/** `show`, `archive`, `restore` and `delete`. */
export const addRecordCommands = <Item extends { readonly id: string }>(
  parts: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const { client, end, add } = parts;
  const noun = kind.what.toLowerCase();
  addRecordShow(parts, group, kind);
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    add(group, `${name} <${noun}>`, description).action(async (given: string, { json = false }: Json) => {
      const restoredBy = ({ id }: Item): string => `runledger ${group.name()} restore ${id}`;
      end(await archiveRecord(await client(), kind, { given, archived, restoredBy, json }));
    });
  };
  addArchiving('archive', `archive a ${noun}: nothing new can use it`, true);
  addArchiving('restore', `restore an archived ${noun}`, false);
  const deletion = `delete a ${noun} that was archived a minute ago and that nothing uses`;
  addRecordDeletion(parts, group, kind, deletion);
};

const listed: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage'> = {
  what: 'Schedule',
  path: '/schedules',
  // Schedules are never archived, and the service refuses a parameter that it does not know.
  readPage: async (call, { query: { archived, ...query } = {}, ...request }) => {
    if (archived === true) return { items: [], next_cursor: null };
    const page = await call(SchedulePage, { ...request, query });
    return { ...page, items: page.schedules };
  },
};

/** How schedules are read and found, also by options that name one. */
export const listedSchedules: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage' | 'idOf' | 'send'> = {
  ...listed,
  idOf: idByName(listed),
  send: (call, request) => call(Schedule, request),
};
