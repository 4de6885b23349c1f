import type { Command } from 'commander';
import { DEFAULT_LIMIT } from '../../command/list-pages.ts';
import type { Json, CommandContext } from '../../command/command-context.ts';
import type { DeadLetterListOptions } from './list-dead-letters.ts';
import type { RedriveOptions } from './redrive-dead-letters.ts';

/** The commands about messages that no consumer could handle. They read the log directly, so they are for operators. */
export const addDeadLetterCommands = (program: Command, { asOperator, end, add }: CommandContext): void => {
  const group = program
    .command('dead-letters')
    .description('messages that no consumer could handle (operator)');
  addFilter(add(group, 'list', 'list dead letters, oldest first'))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action(async (options: DeadLetterListOptions) => {
      const { printDeadLetters } = await import('./list-dead-letters.ts');
      await asOperator((operator) => printDeadLetters(operator, options));
    });
  add(group, 'show <position>', 'show why a consumer rejected it, and its content').action(
    async (position: string, { json = false }: Json) => {
      const { showDeadLetter } = await import('./show-dead-letter.ts');
      await asOperator((operator) => showDeadLetter(operator, position, json));
    },
  );
  addFilter(add(group, 'redrive [position]', 'let the service handle it again, with its current release'))
    .option('--all', 'all that match, oldest first')
    .action(async (position: string | undefined, options: RedriveOptions) => {
      const { redriveDeadLetters } = await import('./redrive-dead-letters.ts');
      end(await asOperator((operator) => redriveDeadLetters(operator, position, options)));
    });
};

const addFilter = (command: Command): Command =>
  command
    .option('--stream <name>', 'only from this stream, such as RUNS')
    .option('--consumer <name>', 'only from this consumer, such as scheduler, projection or executor-NAME');
