import type { Command } from 'commander';
import {
  deleteRun,
  tombstone,
  type DeleteOptions,
  cancel,
  get,
  queue,
  type GetOptions,
  type QueueOptions,
} from './single-run.ts';
import {
  addQueueSettings,
  addFilterWithoutStatus,
  addRunFilter,
  runFilterOf,
  type RunFilterOptions,
} from './run-options.ts';
import { rerunOneOrFailed, type RerunFailedOptions, rerunRuns, type RerunRunsOptions } from './rerun-runs.ts';
import { logs, type LogOptions } from './logs.ts';
import { why } from './why.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { watchRun } from './watch-run.ts';
import { CommandError, type ExitCode } from '../command/command-error.ts';
import { DEFAULT_LIMIT, type ListOptions } from '../command/list-pages.ts';
import { cancelRuns, type BulkOptions } from './bulk-runs.ts';
import { listRuns, watchRuns } from './list-runs.ts';

/** The commands about one run. */
export const addRunCommands = (program: Command, { client, end, add }: CommandContext): void => {
  addQueueSettings(addNewRunOptions(add(program, 'queue', 'queue a run; prints its id')))
    .option('--deployment <deployment>', 'what to run; the sample of a standalone by default')
    .option('--strict-inputs', 'refuse inputs that the version does not define')
    .option('--gpu <model>', "the GPU to run on; the deployment's by default")
    .option('--webhook <url>', 'URL for the notification of the end')
    .option('--webhook-intermediate-status', 'notify the webhook of progress too')
    .action(async (options: QueueOptions) => end(await queue(await client(), options)));
  addFilterWithoutStatus(
    addNewRunOptions(
      add(program, 'rerun [run]', 'queue a run again with the same settings; --input changes single inputs'),
    ).option('--failed', 'all failed runs that match, instead of one; shows how many, and asks first'),
  )
    .option('--dry-run', 'with --failed: only count them')
    .option('--yes', 'with --failed: do not ask')
    .action(async (run: string | undefined, options: RerunFailedOptions) =>
      end(await rerunOneOrFailed(await client(), run, options)),
    );
  add(program, 'get <run>', 'show a run')
    .option('--wait <time>', 'wait for its end first, at most this time (up to 60 seconds)')
    .action(async (run: string, options: GetOptions) => end(await get(await client(), run, options)));
  add(program, 'cancel <run>', 'cancel a run').action(async (run: string, { json = false }: Json) =>
    end(await cancel(await client(), run, json)),
  );
  add(program, 'delete <run>', 'delete a run that has ended, with its inputs, outputs, logs and files')
    .option('--outputs', 'delete only its outputs; the run stays')
    .action(async (run: string, options: DeleteOptions) =>
      end(await deleteRun(await client(), run, options)),
    );
  add(program, 'tombstone <run>', 'show what the deletion of a run erased, when and by whom').action(
    async (run: string, { json = false }: Json) => end(await tombstone(await client(), run, json)),
  );
  add(program, 'why <run>', 'explain why a run waits, and what would help').action(
    async (run: string, { json = false }: Json) => end(await why(await client(), run, json)),
  );
  add(program, 'logs <run>', 'show what a run writes; all attempts, in order')
    .option('--follow', 'show what it writes until it has ended')
    .option('--attempt <number>', 'only this attempt')
    .option('--tail <lines>', 'only the last lines')
    .action(async (run: string, options: LogOptions) => end(await logs(await client(), run, options)));
  add(program, 'watch <run>', 'show a run until it has ended').action(
    async (run: string, { json = false }: Json) => end(await watchRun(await client(), run, json)),
  );
};

const addNewRunOptions = (command: Command): Command =>
  command
    .option(
      '--input <name=value>',
      'one input, with @PATH a file to upload; name[]=… adds an item to a list, as does a file of the same name again; can be repeated',
      (pair, all: string[]) => [...all, pair],
      [],
    )
    .option('--inputs <json>', 'all inputs as a JSON object, or a file with it; - is standard input')
    .option('--idempotency-key <key>', 'requests with the same key queue one run')
    .option('--watch', 'show the run until it has ended');

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

/** What they do is loaded when they run: other commands need no signatures. */
export const addReceiptCommands = (
  program: Command,
  { client, screen, end, add }: CommandContext,
  { cwd }: { readonly cwd: string },
): void => {
  const receipt = program
    .command('receipt')
    .description(
      'write a receipt of a run: a file that proves its history (needs a key with the scope admin)',
    )
    .argument('<run>')
    .option('--output <file>', 'instead of standard output')
    .action(async (run: string, { output }: { readonly output?: string }) => {
      const { getReceipt } = await import('./receipts.ts');
      end(await getReceipt(await client(), run, output));
    });
  add(
    receipt,
    'check <file>',
    'check a receipt, without a connection: exit code 1 when something was altered or is missing',
  )
    .option('--key <key>', 'the public key that must have signed it')
    .action(async (file: string, options: Json & { readonly key?: string }) => {
      const { checkReceiptFile } = await import('./receipts.ts');
      end(await checkReceiptFile({ screen, cwd }, file, options));
    });
  add(receipt, 'keys', 'print the public keys with which the installation signs receipts').action(
    async ({ json = false }: Json) => {
      const { receiptKeys } = await import('./receipts.ts');
      end(await receiptKeys(await client(), json));
    },
  );
};
