import { counted } from '@runledger/contracts/counted';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { ExitCode } from '../output/command-error.ts';
import { DEFAULT_LIMIT, listPages } from '../command/list-pages.ts';
import type { ListOptions } from '../command/list-pages.ts';
import type { CommandContext } from '../command/command-context.ts';
import { errorLines, ShownRuns } from '../api-client/run-responses.ts';
import type { ShownRun } from '../api-client/run-responses.ts';
import { headLine, rowLine } from '../output/table.ts';
import type { Column } from '../output/table.ts';
import { cancelRuns } from './cancel-runs.ts';
import { rerunRuns } from './rerun-runs.ts';
import type { RerunRunsOptions } from './rerun-runs.ts';
import type { BulkOptions } from './bulk-runs.ts';
import { addRunFilter, runFilterOf } from './run-filter.ts';
import type { RunFilterOptions } from './run-filter.ts';

const columns: readonly Column<ShownRun>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'CREATED', width: 24, of: ({ created_at }) => created_at },
  { title: 'STATUS', width: 10, of: ({ status }) => status },
  { title: 'DONE', width: 5, of: ({ progress }) => `${Math.floor(progress * 100)} %`.padStart(5) },
  { title: 'GPU', width: 12, of: ({ gpu }) => gpu },
  { title: 'TOOK', width: 9, of: ({ duration }) => (duration === null ? null : `${duration.toFixed(1)} s`) },
  { title: '', width: 0, of: (run) => run.live_status ?? errorLines(run)[0] ?? run.end_reason ?? '' },
];

interface ListRunsOptions extends RunFilterOptions, ListOptions {
  readonly at?: string;
}

/** Commands about many runs at once. */
export const addManyRunsCommands = (program: Command, { client, end, add }: CommandContext): void => {
  const group = program.command('runs').description('list, cancel or rerun many runs');
  addRunFilter(add(group, 'list', 'list runs, newest first'))
    .option('--at <time>', 'as they were at this time')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: ListRunsOptions) => end(await listRuns(await client(), options)));
  addBulkOptions(
    add(group, 'cancel', 'cancel the runs that match and have not ended; shows how many, and asks first'),
  )
    .option('--all', 'all runs that have not ended, instead of a filter')
    .action(async (options: BulkOptions) => end(await cancelRuns(await client(), options)));
  addBulkOptions(
    add(group, 'rerun', 'queue the runs again that match and have ended; shows how many, and asks first'),
  )
    .option('--all', 'all runs that have ended, instead of a filter')
    .option('--idempotency-key <key>', 'calls with the same key queue each run again once')
    .action(async (options: RerunRunsOptions) => end(await rerunRuns(await client(), options)));
};

const addBulkOptions = (command: Command): Command =>
  addRunFilter(command).option('--dry-run', 'only count them').option('--yes', 'do not ask');

const listRuns = async ({ call, screen }: Client, options: ListRunsOptions): Promise<ExitCode> => {
  const filter = await runFilterOf(call, options);
  return listPages(screen, options, {
    readPage: async (span) => {
      const query = { ...filter, ...span, at: options.at };
      const page = await call(ShownRuns, { method: 'GET', path: '/runs', query });
      const unknown = page.unknown_runs?.length ?? 0;
      if (unknown > 0)
        screen.hint(
          `Of ${counted(unknown, 'run')} nobody knows how they were then: their facts have left the log.`,
        );
      return { items: page.runs, next_cursor: page.next_cursor };
    },
    head: headLine(columns),
    line: (run) => rowLine(columns, run),
    none: 'No run matches.',
    further: 'Use --created-before to continue.',
  });
};
