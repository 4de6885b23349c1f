import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readDeadLetter, type ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { CommandError } from '../../output/command-error.ts';
import { plain, shorten } from '../../output/plain-text.ts';
import { wholeNumberIn } from '../../options/numbers.ts';
import type { Operator } from '../../command/command-context.ts';
import { printRows } from '../../output/table.ts';
import { bodyLines } from './dead-letter-body.ts';

const LONGEST = 1_000;

/** Shows one dead letter: the reason, where it came from and its content. @throws CommandError */
export const showDeadLetter = async (
  { log, screen }: Operator,
  position: string,
  json: boolean,
): Promise<void> => {
  const message = await deadLetterAt(log, position);
  if (json) return screen.printJson(message);
  const { headers } = message;
  printRows(screen, [
    ['position', String(message.position)],
    ['consumer', message.consumer],
    ['stream', message.stream],
    ['sequence', String(message.sequence)],
    ['subject', shorten(message.subject, LONGEST)],
    ['time', message.time],
    ['reason', shorten(message.reason, LONGEST)],
    ...Object.entries(headers).map(([name, values]) => headerRow(name, values)),
  ]);
  screen.print('');
  for (const line of bodyLines(message)) screen.print(line);
};

/** @throws CommandError without a dead letter at the position */
export const deadLetterAt = async (log: EventLog, position: string): Promise<ListedDeadLetter> => {
  const message = await readDeadLetter(
    log,
    wholeNumberIn('The position', position, { least: 1, most: 999_999_999 }),
  );
  if (message !== undefined) return message;
  throw new CommandError(
    `There is no dead letter at position ${position}. It may have been redriven. List them with: runledger dead-letters list`,
  );
};

const headerRow = (name: string, values: readonly string[]): readonly [string, string] => [
  shorten(`header ${plain(name)}`, 60),
  shorten(values.join(', '), LONGEST),
];
