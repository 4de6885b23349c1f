import { isUuid } from '@runledger/contracts/ids';
import type { Command } from 'commander';
import { Schedule, SchedulePage } from '@runledger/contracts/http/catalogue/schedules';
import type { ApiCall } from '../api/api-call.ts';
import { CommandError, plain } from '../command/command-error.ts';
import {
  firstRows,
  type ListedRecords,
  type SingleRecords,
  archiveRecord,
  deleteRecord,
  readRecord,
  showRecord,
  type RecordKind,
} from './records.ts';
import { deploymentWords } from './deployment-names.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { CommandContext } from '../command/command-context.ts';

type Named<Item> = Omit<ListedRecords<Item>, 'columns'>;

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

/** A kind of records that are found by their name too, as `idByName` does. */
export const namedKind = <Item extends Identified & { readonly name: string }>(
  kind: Omit<RecordKind<Item>, 'idOf' | 'nameOf'>,
): RecordKind<Item> => ({ ...kind, idOf: idByName(kind), nameOf: ({ name }) => name });

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
const idByName =
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
  { withClient, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const noun = kind.what.toLowerCase();
  add(group, `show <${noun}>`, `show a ${noun}`).action(
    withClient(async (opened, given: string) =>
      showRecord(opened, kind, await readRecord(opened.call, kind, given)),
    ),
  );
};

export const addRecordDeletion = <Item extends { readonly id: string }>(
  { withClient, add }: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
  description: string,
): void => {
  add(group, `delete <${kind.what.toLowerCase()}>`, description).action(
    withClient(async (opened, given: string) => deleteRecord(opened, kind, given)),
  );
};

/** `show`, `archive`, `restore` and `delete`. */
export const addRecordCommands = <Item extends { readonly id: string }>(
  parts: CommandContext,
  group: Command,
  kind: SingleRecords<Item>,
): void => {
  const { withClient, add } = parts;
  const noun = kind.what.toLowerCase();
  addRecordShow(parts, group, kind);
  const addArchiving = (name: string, description: string, archived: boolean): void => {
    const restoredBy = ({ id }: Item): string => `runledger ${group.name()} restore ${id}`;
    add(group, `${name} <${noun}>`, description).action(
      withClient(async (opened, given: string) =>
        archiveRecord(opened, kind, given, { archived, restoredBy }),
      ),
    );
  };
  addArchiving('archive', `archive a ${noun}: nothing new can use it`, true);
  addArchiving('restore', `restore an archived ${noun}`, false);
  const deletion = `delete a ${noun} that was archived a minute ago and that nothing uses`;
  addRecordDeletion(parts, group, kind, deletion);
};

/** Also for options that name one. */
export const schedules: RecordKind<Schedule> = namedKind({
  what: 'Schedule',
  path: '/schedules',
  // Schedules are never archived, and the service refuses a parameter that it does not know.
  readPage: async (call, { query: { archived, ...query } = {}, ...request }) => {
    if (archived === true) return { items: [], next_cursor: null };
    const page = await call(SchedulePage, { ...request, query });
    return { ...page, items: page.schedules };
  },
  send: (call, request) => call(Schedule, request),
  columns: [
    { title: 'ID', width: 36, of: ({ id }) => id },
    {
      title: 'NEXT',
      width: 24,
      is: 'time',
      of: ({ paused, next_times }) => (paused ? 'paused' : (next_times[0] ?? null)),
    },
    { title: 'LAST', width: 8, is: 'status', of: ({ outcomes }) => outcomes[0]?.outcome ?? null },
    { title: 'CRON', width: 20, of: ({ cron }) => cron },
    { title: 'NAME', width: 0, of: ({ name }) => name },
  ],
  rows: async (schedule, call) => [
    ...firstRows(schedule),
    ['deployment', await deploymentWords(call, schedule.deployment_id)],
    ['version', schedule.workflow_version_id],
    ['cron', schedule.cron],
    ['time zone', schedule.time_zone],
    ['day fields', schedule.day_fields],
    ['overlap', schedule.overlap],
    ['catch up', `${schedule.catch_up_s} s`],
    ['paused', schedule.paused ? 'yes' : null],
    ['inputs', JSON.stringify(schedule.inputs)],
    ['webhook', schedule.webhook],
    ['created', schedule.created_at, 'time'],
    ...schedule.next_times.map((time) => ['next', time, 'time'] as const),
    ...schedule.outcomes.map((outcome) => ['last', outcomeLine(outcome)] as const),
  ],
});

type Outcome = Schedule['outcomes'][number];

/** What came of a time, such as `2026-05-01T09:00:00.000Z queued 01920000-…`. */
export const outcomeLine = ({ time, last_time, times, outcome, run_id, message }: Outcome): string => {
  const when = times === 1 ? time : `${time} to ${last_time}`;
  const count = times === 1 ? '' : ` ${times} times`;
  const run = run_id === null ? '' : ` ${run_id}`;
  return `${when} ${outcome}${count}${run}${message === null ? '' : `: ${message}`}`;
};
