import {
  Usage,
  Retention,
  OrganisationTombstone,
  type ResourceUsage,
  type KeptDays,
} from '@runledger/contracts/http/organisations';
import type { Command } from 'commander';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { ANSWER_WITHIN_MS } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError } from '../command/command-error.ts';
import { tableLines, rowLines, type Column } from '../command/table.ts';
import { wholeNumber } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

type UsedResource = ResourceUsage & { readonly resource: string };

const usageColumns: readonly Column<UsedResource>[] = [
  { title: 'RESOURCE', width: 18, of: ({ resource }) => resource },
  { title: 'USED', width: 16, of: ({ used }) => used?.toString() ?? null },
  { title: 'LIMIT', width: 16, of: ({ limit }) => String(limit) },
  { title: 'UNIT', width: 0, of: ({ unit }) => unit },
];

export const addUsageCommand = (program: Command, { withClient, add }: CommandContext): void => {
  add(program, 'usage', 'what the organisation uses of the shared stores, and what it may use').action(
    withClient(async ({ call, screen }) => {
      const usage = await call(Usage, { method: 'GET', path: '/usage', answerWithinMs: ANSWER_WITHIN_MS });
      const items = Object.entries(usage).map(([resource, one]) => ({ resource, ...one }));
      screen.result(usage, () => tableLines(screen, usageColumns, items));
    }),
  );
};

type Row = KeptDays & { readonly what: string };

const days = (one: number | null): string | null => one?.toString() ?? null;

const columns: readonly Column<Row>[] = [
  { title: 'WHAT', width: 14, of: ({ what }) => what },
  { title: 'DAYS', width: 8, of: (row) => row.days?.toString() ?? 'no end' },
  { title: 'CHOSEN', width: 8, of: ({ chosen }) => days(chosen) },
  { title: 'LEAST', width: 8, of: ({ least }) => days(least) },
  { title: 'MOST', width: 0, of: ({ most }) => days(most) },
];

interface RetentionOptions {
  /** False with `--no-runs-days`. */
  readonly runsDays?: string | false;
  readonly outputsDays?: string | false;
}

/** For how long an organisation keeps its runs. */
export const addRetentionCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program.command('retention').description('for how long runs and their output files are kept');
  add(group, 'show', 'the days that are chosen, and that can be').action(
    withClient(async ({ call, screen }) => {
      print(screen, await call(Retention, { method: 'GET', path: '/retention' }));
    }),
  );
  add(group, 'update', 'choose days; it is applied within minutes, also to runs that are there already')
    .option('--runs-days <days>', 'from the creation of a run')
    .option('--no-runs-days', 'as long as the installation keeps runs')
    .option('--outputs-days <days>', 'for output files, from the end of their run')
    .option('--no-outputs-days', 'as long as their runs, or as long as files are kept')
    .action(withClient(choose));
};

/** @throws CommandError without a change */
const choose = async (
  { call, screen }: Client,
  { runsDays, outputsDays }: RetentionOptions,
): Promise<void> => {
  const body = {
    runs_days: runsDays === false ? null : wholeNumber('--runs-days', runsDays),
    outputs_days: outputsDays === false ? null : wholeNumber('--outputs-days', outputsDays),
  };
  if (Object.values(body).every((value) => value === undefined))
    throw new CommandError('No change was given. Use --runs-days or --outputs-days.');
  print(screen, await call(Retention, { method: 'PATCH', path: '/retention', body }));
};

const print = (screen: Screen, retention: Retention): void => {
  const items = Object.entries(retention).map(([what, one]) => ({ what, ...one }));
  screen.result(retention, () => tableLines(screen, columns, items));
};

/** The commands of operators who erase an organisation, over the API. */
export const addErasureCommands = (organisations: Command, { withClient, add }: CommandContext): void => {
  add(organisations, 'erase <id>', 'erase everything of an organisation (key with the scope operator)')
    .requiredOption('--name <name>', 'its name, as a confirmation: this cannot be undone')
    .action(withClient(eraseOrganisation));
  add(
    organisations,
    'tombstone <id>',
    'what the erasure of an organisation erased, when and by whom (key with the scope operator)',
  ).action(
    withClient(async ({ call, screen }, id: string) => {
      const found = await call(OrganisationTombstone, { method: 'GET', path: `${pathOf(id)}/tombstone` });
      screen.result(found, () => rowLines(screen, rowsOf(found)));
    }),
  );
};

const eraseOrganisation = async (
  { call, screen }: Client,
  id: string,
  { name }: { readonly name: string },
): Promise<void> => {
  const erasure = await call(OrganisationTombstone, { method: 'DELETE', path: pathOf(id), query: { name } });
  const isErased = erasure.state === 'erased';
  screen.result(erasure, ({ org_id }) =>
    isErased
      ? `Organisation ${org_id} is erased.`
      : `Organisation ${org_id} is being erased. Its keys are refused within seconds.`,
  );
  if (!isErased && !screen.isJson())
    screen.hint(`See whether all of it is gone: runledger organisations tombstone ${erasure.org_id}`);
};

const pathOf = (id: string): string => `/organisations/${encodeURIComponent(id)}`;

const rowsOf = ({ org_id, requested_at, requested_by, state, erased_at, erases }: OrganisationTombstone) =>
  [
    ['organisation', org_id],
    ['requested', requested_at, 'time'],
    ['by user', requested_by.user_id],
    ['with key', requested_by.key_id],
    ['state', state === 'erased' ? 'erased' : 'being erased'],
    ['erased', erased_at, 'time'],
    [
      'so far',
      [counted(erases.keys, 'key'), counted(erases.runs, 'run'), counted(erases.files, 'file')].join(', '),
    ],
  ] as const;
