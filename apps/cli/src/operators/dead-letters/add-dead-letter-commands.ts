import type { Command } from 'commander';
import { USUAL_LIMIT } from '../../command/list-pages.ts';
import type { Json, CommandContext } from '../../command/command-context.ts';
import { printDeadLetters } from './list-dead-letters.ts';
import type { DeadLetterListOptions } from './list-dead-letters.ts';
import { redriveDeadLetters } from './redrive-dead-letters.ts';
import type { RedriveOptions } from './redrive-dead-letters.ts';
import { showDeadLetter } from './show-dead-letter.ts';

/** The commands about messages that a consumer could not take: for operators, who read the log itself. */
export const addDeadLetterCommands = (
  program: Command,
  { asOperator, screen, end, add }: CommandContext,
): void => {
  const group = program.command('parked').description('messages that no consumer could take (operator)');
  addFilter(add(group, 'list', 'what is parked, the oldest first'))
    .option('--limit <number>', 'at most so many', USUAL_LIMIT)
    .action((options: DeadLetterListOptions) => asOperator((log) => printDeadLetters(log, screen, options)));
  add(group, 'show <position>', 'why it is parked, and what it holds').action(
    (position: string, { json = false }: Json) =>
      asOperator((log) => showDeadLetter(log, position, screen, json)),
  );
  addFilter(add(group, 'redrive [position]', "have it taken again by the service's present release"))
    .option('--all', 'all that fit, the oldest first')
    .action(async (position: string | undefined, options: RedriveOptions) =>
      end(await asOperator((log) => redriveDeadLetters(log, position, screen, options))),
    );
};

const addFilter = (command: Command): Command =>
  command
    .option('--stream <name>', 'of this stream, such as RUNS')
    .option('--consumer <name>', 'that this consumer parked, such as scheduler, projection or executor-NAME');
