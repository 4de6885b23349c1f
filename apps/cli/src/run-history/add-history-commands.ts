import type { Command } from 'commander';
import type { CommandContext, Json } from '../command/command-context.ts';
import { history, type HistoryOptions } from './history.ts';
import { showChanges, showRunAt } from './past-run.ts';

/** The commands about what happened to a run, and how it was. */
export const addHistoryCommands = (program: Command, { client, end, add }: CommandContext): void => {
  add(
    program,
    'history <run>',
    'show what happened to a run: its facts, notifications, and lines of its logs',
  )
    .option('--follow', 'show what happens until it has ended and its notification is settled')
    .option('--changes', 'show all that each fact changed')
    .option('--svg', 'print a picture of where its time went')
    .action(async (run: string, options: HistoryOptions) => end(await history(await client(), run, options)));
  add(
    program,
    'at <run> <moment>',
    'show a run as it was after the fact at this position, or at this time',
  ).action(async (run: string, moment: string, { json = false }: Json) =>
    end(await showRunAt(await client(), run, moment, json)),
  );
  add(program, 'diff <run> <from> <to>', 'show what changed of a run between two positions or times').action(
    async (run: string, from: string, to: string, { json = false }: Json) =>
      end(await showChanges(await client(), run, [from, to], json)),
  );
};
