import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext, Surroundings } from '../command/command-context.ts';
import { CommandError } from '../command/command-error.ts';
import { addInputOptions } from '../runs/run-commands.ts';
import type { InputOptions } from '../runs/run-inputs.ts';

export interface LocalRunOptions extends InputOptions {
  readonly local?: boolean;
  readonly output: string;
}

/** The command that executes a folder on this machine, without any server. */
export const addLocalRunCommand = (
  program: Command,
  { add, end, untilInterrupted }: CommandContext,
  surroundings: Surroundings,
): void => {
  addInputOptions(
    add(program, 'run [path]', 'execute a folder on this machine, without any server, and print its outputs')
      .option('--local', 'here; without it the command only says how to run it on a server')
      .option('--output <folder>', 'where output files go', 'outputs'),
  ).action(async (path: string | undefined, options: LocalRunOptions) => {
    if (options.local !== true)
      throw new CommandError(
        'Only --local executes a folder from here: runledger run --local FOLDER. On a server it is a deployment: runledger deploy FOLDER, then runledger queue --deployment NAME.',
      );
    const folder = resolve(surroundings.cwd, path ?? '.');
    // With all that reads and packs a folder, which no other command waits for.
    const { runLocally } = await import('./local-run.ts');
    end(await runLocally(folder, options, surroundings, untilInterrupted()));
  });
};
