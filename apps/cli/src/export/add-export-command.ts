import { Option, type Command } from 'commander';
import type { CommandContext } from '../command/command-context.ts';
import { unlessInterrupted } from '../command/unless-interrupted.ts';
import { outputTarget } from '../output/write-output.ts';
import { addRunConditions } from '../runs/run-filter.ts';
import { exportRuns, FORMATS, type ExportOptions } from './export-runs.ts';

interface SpanOptions {
  readonly since?: string;
  readonly until?: string;
}

export const addExportCommand = (program: Command, context: CommandContext): void => {
  const { client, screen, stdout } = context;
  const command = program
    .command('export')
    .description('write runs as a table for analysts: a row for each run, newest first');
  addRunConditions(command)
    .addOption(new Option('--format <format>', 'of the file').choices(FORMATS).default('ndjson'))
    .option('--since <time>', 'created at this time or later, such as 2026-05-01 or 2026-05-01T12:00:00Z')
    .option('--until <time>', 'created before this time')
    .option('--output <file>', 'instead of standard output')
    .action(async ({ output, since, until, ...options }: ExportOptions & SpanOptions) => {
      const connected = await client();
      const what =
        options.format === 'parquet' ? 'Parquet is not for a screen' : 'An export is not for a screen';
      const target = outputTarget(output, { cwd: connected.cwd, screen, stdout, what });
      const span = {
        ...(since !== undefined && { createdAfter: since }),
        ...(until !== undefined && { createdBefore: until }),
      };
      await unlessInterrupted(context, 'export', (signal) =>
        exportRuns(connected, { ...options, ...span }, { target, signal }),
      );
    });
};
