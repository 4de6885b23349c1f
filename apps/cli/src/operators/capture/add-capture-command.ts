import type { Command } from 'commander';
import type { CommandContext } from '../../command/command-context.ts';
import { unlessInterrupted } from '../../command/unless-interrupted.ts';
import { outputTarget } from '../../output/write-output.ts';
import { captureOf, DEFAULT_LEAD_IN, DEFAULT_RATE, type CaptureOptions } from './capture-options.ts';

export const addCaptureCommand = (
  program: Command,
  context: CommandContext,
  { cwd }: { readonly cwd: string },
): void => {
  const { asOperator, screen, stdout } = context;
  program
    .command('capture')
    .description('write the facts of a time to a file, without the content of runs (operator)')
    .requiredOption('--from <time>', 'facts of this time or later, such as 2026-05-01T12:00:00Z')
    .requiredOption('--to <time>', 'facts before this time')
    .option('--lead-in <time>', 'of runs queued so long before, all facts too', DEFAULT_LEAD_IN)
    .option('--organisation <id>', 'only the runs of this organisation')
    .option('--output <file>', 'instead of standard output')
    .option('--rate <n>', 'read at most so many messages a second', DEFAULT_RATE)
    .action(async ({ output, ...options }: CaptureOptions) => {
      const { capture } = await import('./capture.ts');
      const wanted = captureOf(options);
      const target = outputTarget(output, { cwd, screen, stdout, what: 'A slice is compressed' });
      await unlessInterrupted(context, 'slice', (signal) =>
        asOperator(({ log }) => capture({ log, screen, target, signal }, wanted)),
      );
    });
};
