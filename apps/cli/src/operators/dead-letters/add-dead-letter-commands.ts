import type { Command } from 'commander';
import { USUAL_LIMIT } from '../../command/list-pages.ts';
import type { Json, ProgramParts } from '../../command/command-context.ts';
import { listParkedMessages } from './list-dead-letters.ts';
import type { ParkedListOptions } from './list-dead-letters.ts';
import { redriveParked } from './redrive-dead-letters.ts';
import type { RedriveOptions } from './redrive-dead-letters.ts';
import { showParked } from './show-dead-letter.ts';

/** The commands about messages that a consumer could not take: for operators, who read the log itself. */
export const addParkedCommands = (program: Command, { asOperator, screen, end, add }: ProgramParts): void => {
  const group = program.command('parked').description('messages that no consumer could take (operator)');
  addFilter(add(group, 'list', 'what is parked, the oldest first'))
    .option('--limit <number>', 'at most so many', USUAL_LIMIT)
    .action((options: ParkedListOptions) => asOperator((log) => listParkedMessages(log, screen, options)));
  add(group, 'show <position>', 'why it is parked, and what it holds').action(
    (position: string, { json = false }: Json) =>
      asOperator((log) => showParked(log, position, screen, json)),
  );
  addFilter(add(group, 'redrive [position]', "have it taken again by the service's present release"))
    .option('--all', 'all that fit, the oldest first')
    .action(async (position: string | undefined, options: RedriveOptions) =>
      end(await asOperator((log) => redriveParked(log, position, screen, options))),
    );
};

const addFilter = (command: Command): Command =>
  command
    .option('--stream <name>', 'of this stream, such as RUNS')
    .option('--consumer <name>', 'that this consumer parked, such as scheduler, projection or executor-NAME');
