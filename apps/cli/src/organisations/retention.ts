import { Retention } from '@runledger/contracts/http/retention';
import type { KeptDays } from '@runledger/contracts/http/retention';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { wholeNumber } from '../options/numbers.ts';
import { CommandError, EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';
import { printTable } from '../output/table.ts';
import type { Column } from '../output/table.ts';

type Row = KeptDays & { readonly what: string };

const days = (one: number | null): string | null => one?.toString() ?? null;

const columns: readonly Column<Row>[] = [
  { title: 'WHAT', width: 14, of: ({ what }) => what },
  { title: 'DAYS', width: 8, of: (row) => row.days?.toString() ?? 'no end' },
  { title: 'CHOSEN', width: 8, of: ({ chosen }) => days(chosen) },
  { title: 'LEAST', width: 8, of: ({ least }) => days(least) },
  { title: 'MOST', width: 0, of: ({ most }) => days(most) },
];

interface RetentionOptions extends Json {
  /** False with `--no-runs-days`. */
  readonly runsDays?: string | false;
  readonly outputsDays?: string | false;
}

/** For how long an organisation keeps its runs. */
export const addRetentionCommands = (program: Command, { client, end, add }: CommandContext): void => {
  const group = program.command('retention').description('for how long runs and their output files are kept');
  add(group, 'show', 'the days that are chosen, and that can be').action(async ({ json = false }: Json) => {
    const { call, screen } = await client();
    end(print(screen, await call(Retention, { method: 'GET', path: '/retention' }), json));
  });
  add(group, 'update', 'choose days; it is applied within minutes, also to runs that are there already')
    .option('--runs-days <days>', 'from the creation of a run')
    .option('--no-runs-days', 'as long as the installation keeps runs')
    .option('--outputs-days <days>', 'for output files, from the end of their run')
    .option('--no-outputs-days', 'as long as their runs, or as long as files are kept')
    .action(async (options: RetentionOptions) => end(await choose(await client(), options)));
};

/** @throws CommandError without a change */
const choose = async (
  { call, screen }: Client,
  { runsDays, outputsDays, json = false }: RetentionOptions,
): Promise<ExitCode> => {
  const body = {
    runs_days: runsDays === false ? null : wholeNumber('--runs-days', runsDays),
    outputs_days: outputsDays === false ? null : wholeNumber('--outputs-days', outputsDays),
  };
  if (Object.values(body).every((value) => value === undefined))
    throw new CommandError('No change was given. Use --runs-days or --outputs-days.');
  return print(screen, await call(Retention, { method: 'PATCH', path: '/retention', body }), json);
};

const print = (screen: Screen, retention: Retention, json: boolean): ExitCode => {
  if (json) {
    screen.printJson(retention);
    return EXIT.done;
  }
  const items = Object.entries(retention).map(([what, one]) => ({ what, ...one }));
  printTable(screen, columns, { items, json });
  return EXIT.done;
};
