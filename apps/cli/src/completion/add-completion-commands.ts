import { Argument, type Command } from 'commander';
import type { CommandContext } from '../command/command-context.ts';
import { connecting, type Surroundings } from '../command/connecting.ts';
import { EXIT } from '../output/command-error.ts';
import { complete, contextIn } from './complete.ts';
import { SHELLS, completionScript, type Shell } from './scripts.ts';

/** `completion` prints a script for a shell, and the script asks `complete` what may come next. */
export const addCompletionCommands = (
  program: Command,
  { screen, end }: CommandContext,
  environment: Surroundings,
): void => {
  program
    .command('completion')
    .description('print a script for a shell that completes commands, options, names and ids')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: Shell) => screen.print(completionScript(shell).trimEnd()));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const { client } = connecting(environment, () => contextIn(words));
      const isWhole = await complete({ program, client, screen, env: environment.env }, words);
      // What was not answered in time holds up nobody.
      end(isWhole ? EXIT.done : EXIT.notDone);
    });
};

const HELP = `
bash: source <(runledger completion bash)
zsh:  source <(runledger completion zsh)
fish: runledger completion fish | source
Write the line into the file that the shell reads at its start to keep it. Where runledger is
started by npx, write this line before it: alias runledger='npx runledger'`;
