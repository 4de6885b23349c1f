import type { Command } from 'commander';
import type { CommandContext } from '../../command/command-context.ts';
import { unlessInterrupted } from '../../command/unless-interrupted.ts';
import { jsonFiles, type FileSources } from '../../options/json-files.ts';
import { outputTarget } from '../../output/write-output.ts';
import { captureOf, DEFAULT_LEAD_IN, DEFAULT_RATE, type CaptureOptions } from './capture-options.ts';
import type { ContentOptions } from './content-options.ts';

interface OutputOptions {
  readonly output?: string;
}

const HELP = `
A slice has facts of runs, of executors, and outcomes of delivery attempts. With several conditions it
is of the runs that match them all. Of what clients and programs wrote it has nothing, unless --keep
names it: inputs, outputs, addresses, texts, tags, secret_names, traces, or all. Values of secret
inputs and keys of output files it never has. --mask names a JSON file such as
{"inputs": ["/prompt"], "outputs": ["/data/text"]}: JSON pointers to what is replaced by a
pseudonym.`;

export const addCaptureCommand = (program: Command, context: CommandContext, files: FileSources): void => {
  const { asOperator, screen, stdout } = context;
  program
    .command('capture')
    .description('write the facts of a time, or of runs, to a file for replays and what-ifs (operator)')
    .option('--from <time>', 'facts of this time or later, such as 2026-05-01T12:00:00Z')
    .option('--to <time>', 'facts before this time')
    .option('--lead-in <time>', 'of runs queued so long before, all facts too', DEFAULT_LEAD_IN)
    .option('--run <run...>', 'only these runs; without --from and --to all that the log holds of them')
    .option('--deployment <id...>', 'only the runs of these deployments')
    .option('--organisation <id...>', 'only the runs of these organisations')
    .option('--keep <kinds>', 'content that the slice has, with commas; none by default')
    .option('--mask <file>', 'what of kept inputs and outputs is replaced')
    .option('--output <file>', 'instead of standard output')
    .option('--rate <n>', 'read at most so many messages a second', DEFAULT_RATE)
    .addHelpText('after', HELP)
    .action(async ({ output, keep, mask, ...options }: CaptureOptions & ContentOptions & OutputOptions) => {
      const [{ capture }, { contentOf }] = await Promise.all([
        import('./capture.ts'),
        import('./content-options.ts'),
      ]);
      const chosen = { ...(keep !== undefined && { keep }), ...(mask !== undefined && { mask }) };
      const wanted = { ...captureOf(options), content: await contentOf(chosen, jsonFiles(files)) };
      const { cwd } = files;
      const target = outputTarget(output, { cwd, screen, stdout, what: 'A slice is compressed' });
      await unlessInterrupted(context, 'slice', (signal) =>
        asOperator(({ log }) => capture({ log, screen, target, signal }, wanted)),
      );
    });
};
