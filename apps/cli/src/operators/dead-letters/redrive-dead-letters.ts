import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { EXIT, CommandError } from '../../output/command-error.ts';
import type { ExitCode } from '../../output/command-error.ts';
import { plain } from '../../output/plain-text.ts';
import type { Screen } from '../../output/screen.ts';
import { readDeadLetters } from './list-dead-letters.ts';
import type { DeadLetterFilter } from './list-dead-letters.ts';
import { redriving } from './redrive.ts';
import type { Redriven } from './redrive.ts';
import { parkedAt } from './show-dead-letter.ts';

export interface RedriveOptions extends DeadLetterFilter {
  readonly all?: boolean;
  readonly json?: boolean;
}

/** Has parked messages taken again, one or all that fit, and says what became of each. @throws Explained */
export const redriveDeadLetters = async (
  log: EventLog,
  position: string | undefined,
  screen: Screen,
  { all = false, json = false, stream, consumer }: RedriveOptions,
): Promise<ExitCode> => {
  if ((position === undefined) !== all)
    throw new CommandError('Which ones? Name a position of runledger parked list, or --all.');
  if (!all && (stream !== undefined || consumer !== undefined))
    throw new CommandError('--stream and --consumer go with --all.');
  const filter = { ...(stream && { stream }), ...(consumer && { consumer }) };
  const messages = position === undefined ? readDeadLetters(log, filter) : [await parkedAt(log, position)];
  return redriveEach(log, messages, screen, json);
};

const redriveEach = async (
  log: EventLog,
  messages: AsyncIterable<ListedDeadLetter> | Iterable<ListedDeadLetter>,
  screen: Screen,
  json: boolean,
): Promise<ExitCode> => {
  const redrive = redriving(log);
  let [redriven, left] = [0, 0];
  for await (const message of messages) {
    const result = await redrive(message);
    redriven += 1;
    if (result.outcome !== 'taken') left += 1;
    if (json) screen.printJson(result);
    else screen.print(sentence(result));
  }
  if (redriven === 0 && !json) screen.hint('Nothing is parked like that.');
  return left === 0 ? EXIT.done : EXIT.notDone;
};

const sentence = ({ position, outcome, why }: Redriven): string => {
  const because = plain(why);
  switch (outcome) {
    case 'taken':
      return `${position} is taken, and parked no more: ${because}`;
    case 'refused':
      return `${position} is refused again, and stays parked: ${because}`;
    case 'not_answered':
    case 'nobody_takes_it':
      return `${position} stays parked: ${because}`;
  }
};
