import type { Command } from 'commander';
import { DEFAULT_LIMIT } from '../../command/list-pages.ts';
import type { Json, CommandContext } from '../../command/command-context.ts';
import { printDeadLetters } from './list-dead-letters.ts';
import type { DeadLetterListOptions } from './list-dead-letters.ts';
import { redriveDeadLetters } from './redrive-dead-letters.ts';
import type { RedriveOptions } from './redrive-dead-letters.ts';
import { showDeadLetter } from './show-dead-letter.ts';

/** The commands about messages that no consumer could handle. They read the log directly, so they are for operators. */
export const addDeadLetterCommands = (program: Command, { asOperator, end, add }: CommandContext): void => {
  const group = program
    .command('dead-letters')
    .description('messages that no consumer could handle (operator)');
  addFilter(add(group, 'list', 'list dead letters, oldest first'))
    .option('--limit <number>', 'print at most this many', DEFAULT_LIMIT)
    .action((options: DeadLetterListOptions) =>
      asOperator((operator) => printDeadLetters(operator, options)),
    );
  add(group, 'show <position>', 'show why a consumer rejected it, and its content').action(
    (position: string, { json = false }: Json) =>
      asOperator((operator) => showDeadLetter(operator, position, json)),
  );
  addFilter(add(group, 'redrive [position]', 'let the service handle it again, with its current release'))
    .option('--all', 'all that match, oldest first')
    .action(async (position: string | undefined, options: RedriveOptions) =>
      end(await asOperator((operator) => redriveDeadLetters(operator, position, options))),
    );
};

const addFilter = (command: Command): Command =>
  command
    .option('--stream <name>', 'only from this stream, such as RUNS')
    .option('--consumer <name>', 'only from this consumer, such as scheduler, projection or executor-NAME');
