import type { Command } from 'commander';
import { deleteRun, tombstone, cancel, get, queue } from './single-run.ts';
import {
  addQueueSettings,
  addFilterWithoutStatus,
  addRunFilter,
  runFilterOf,
  type RunFilterOptions,
} from './run-options.ts';
import { rerunOneOrFailed, rerunRuns } from './rerun-runs.ts';
import { logs } from './logs.ts';
import { why } from './why.ts';
import type { CommandContext } from '../command/command-context.ts';
import { watchRun } from './watch-run.ts';
import { CommandError } from '../command/command-error.ts';
import { DEFAULT_LIMIT, type ListOptions } from '../command/list-pages.ts';
import { cancelRuns } from './bulk-runs.ts';
import { listRuns, watchRuns } from './list-runs.ts';

/** The commands about one run. */
export const addRunCommands = (program: Command, { withClient, withRun, add }: CommandContext): void => {
  addQueueSettings(addNewRunOptions(add(program, 'queue', 'queue a run; prints its id')))
    .option(
      '--deployment <deployment>',
      'what to run, such as portrait, or portrait@12 for a version; the sample of a standalone by default',
    )
    .option('--strict-inputs', 'refuse inputs that the version does not define')
    .option('--gpu <model>', "the GPU to run on; the deployment's by default")
    .option('--webhook <url>', 'URL for the notification of the end')
    .option('--webhook-intermediate-status', 'notify the webhook of progress too')
    .action(withClient(queue));
  addFilterWithoutStatus(
    addNewRunOptions(
      add(program, 'rerun [run]', 'queue a run again with the same settings; --input changes single inputs'),
    ).option('--failed', 'all failed runs that match, instead of one; shows how many, and asks first'),
  )
    .option('--dry-run', 'with --failed: only count them')
    .option('--yes', 'with --failed: do not ask')
    .action(withClient(rerunOneOrFailed));
  add(program, 'get <run>', 'show a run')
    .option('--wait <time>', 'wait for its end first, at most this time (up to 60 seconds)')
    .action(withRun(get));
  add(program, 'cancel <run>', 'cancel a run').action(withRun(cancel));
  add(program, 'delete <run>', 'delete a run that has ended, with its inputs, outputs, logs and files')
    .option('--outputs', 'delete only its outputs; the run stays')
    .action(withRun(deleteRun));
  add(program, 'tombstone <run>', 'show what the deletion of a run erased, when and by whom').action(
    withClient(tombstone),
  );
  add(program, 'why <run>', 'explain why a run waits, and what would help').action(withRun(why));
  add(program, 'logs <run>', 'show what a run writes; all attempts, in order')
    .option('--follow', 'show what it writes until it has ended')
    .option('--attempt <number>', 'only this attempt')
    .option('--tail <lines>', 'only the last lines')
    .action(withRun(logs));
  add(program, 'watch <run>', 'show a run until it has ended').action(withRun(watchRun));
};

const addNewRunOptions = (command: Command): Command =>
  addInputOptions(command)
    .option('--idempotency-key <key>', 'requests with the same key queue one run')
    .option('--watch', 'show the run until it has ended');

export const addInputOptions = (command: Command): Command =>
  command
    .option(
      '--input <name=value>',
      'one input, with @PATH a file to upload; name[]=… adds an item to a list, as does a file of the same name again; can be repeated',
      (pair, all: string[]) => [...all, pair],
      [],
    )
    .option('--inputs <json>', 'all inputs as a JSON object, or a file with it; - is standard input');

interface ListRunsOptions extends RunFilterOptions, ListOptions {
  readonly at?: string;
  readonly watch?: boolean;
}

/** Commands about many runs at once. */
export const addManyRunsCommands = (program: Command, context: CommandContext): void => {
  const { withClient, add } = context;
  const group = program.command('runs').description('list, cancel or rerun many runs');
  addRunFilter(add(group, 'list', 'list runs, newest first'))
    .option('--at <time>', 'as they were at this time')
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .option('--watch', 'show them until Ctrl-C, read again each second')
    .action(async (options: ListRunsOptions) => list(context, options));
  addBulkOptions(
    add(group, 'cancel', 'cancel the runs that match and have not ended; shows how many, and asks first'),
  )
    .option('--all', 'all runs that have not ended, instead of a filter')
    .action(withClient(cancelRuns));
  addBulkOptions(
    add(group, 'rerun', 'queue the runs again that match and have ended; shows how many, and asks first'),
  )
    .option('--all', 'all runs that have ended, instead of a filter')
    .option('--idempotency-key <key>', 'calls with the same key queue each run again once')
    .action(withClient(rerunRuns));
};

const addBulkOptions = (command: Command): Command =>
  addRunFilter(command).option('--dry-run', 'only count them').option('--yes', 'do not ask');

const list = async (
  { client, untilInterrupted }: CommandContext,
  { at, watch = false, ...options }: ListRunsOptions,
): Promise<void> => {
  if (watch && at !== undefined)
    throw new CommandError('What is past does not change. Use --watch without --at.');
  const opened = await client();
  const query = { ...(await runFilterOf(opened.call, options)), at };
  if (!watch) return listRuns(opened, query, options);
  return watchRuns(opened, query, options, untilInterrupted());
};
