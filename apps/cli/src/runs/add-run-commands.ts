import type { Command } from 'commander';
import { deleteRun, tombstone, type DeleteOptions } from './delete-run.ts';
import { addQueueSettings } from './queue-options.ts';
import { cancel, get, queue } from './single-run.ts';
import type { GetOptions, QueueOptions } from './single-run.ts';
import { rerunOneOrFailed, type RerunFailedOptions } from './rerun-runs.ts';
import { addFilterWithoutStatus } from './run-filter.ts';
import { logs, type LogOptions } from './logs.ts';
import { why } from './why.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { watchRun } from './watch-run.ts';

/** The commands about one run. */
export const addRunCommands = (program: Command, { client, end, add }: CommandContext): void => {
  addQueueSettings(addNewRunOptions(add(program, 'queue', 'queue a run; prints its id')))
    .option('--deployment <deployment>', 'what to run; the sample of a standalone by default')
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
