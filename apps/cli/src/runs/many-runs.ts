import type { Command } from 'commander';
import { CommandError, type ExitCode } from '../output/command-error.ts';
import { DEFAULT_LIMIT } from '../command/list-pages.ts';
import type { ListOptions } from '../command/list-pages.ts';
import type { CommandContext } from '../command/command-context.ts';
import { cancelRuns } from './cancel-runs.ts';
import { listRuns } from './list/list-runs.ts';
import { watchRuns } from './list/watch-runs.ts';
import { rerunRuns } from './rerun-runs.ts';
import type { RerunRunsOptions } from './rerun-runs.ts';
import type { BulkOptions } from './bulk-runs.ts';
import { addRunFilter, runFilterOf } from './run-filter.ts';
import type { RunFilterOptions } from './run-filter.ts';

interface ListRunsOptions extends RunFilterOptions, ListOptions {
  readonly at?: string;
  readonly watch?: boolean;
}

/** Commands about many runs at once. */
export const addManyRunsCommands = (program: Command, context: CommandContext): void => {
  const { client, end, add } = context;
  const group = program.command('runs').description('list, cancel or rerun many runs');
  addRunFilter(add(group, 'list', 'list runs, newest first'))
    .option('--at <time>', 'as they were at this time')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .option('--watch', 'show them until Ctrl-C, read again each second')
    .action(async (options: ListRunsOptions) => end(await list(context, options)));
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

const list = async (
  { client, untilInterrupted }: CommandContext,
  { at, watch = false, ...options }: ListRunsOptions,
): Promise<ExitCode> => {
  if (watch && at !== undefined)
    throw new CommandError('What is past does not change. Use --watch without --at.');
  const opened = await client();
  const query = { ...(await runFilterOf(opened.call, options)), at };
  if (!watch) return listRuns(opened, query, options);
  return watchRuns(opened, query, options, untilInterrupted());
};
