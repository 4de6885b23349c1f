import type { ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { redriving, type Redriven } from '@runledger/request-reply/redriving';
import { EXIT, CommandError } from '../../output/command-error.ts';
import type { ExitCode } from '../../output/command-error.ts';
import { plain } from '../../output/plain-text.ts';
import type { Operator } from '../../command/command-context.ts';
import { readDeadLetters } from './list-dead-letters.ts';
import type { DeadLetterFilter } from './list-dead-letters.ts';
import { deadLetterAt } from './show-dead-letter.ts';

export interface RedriveOptions extends DeadLetterFilter {
  readonly all?: boolean;
  readonly json?: boolean;
}

const ANSWER_WITHIN_MS = 15_000;

/** Redrives one dead letter or all that match, and prints the outcome of each. @throws CommandError */
export const redriveDeadLetters = async (
  operator: Operator,
  position: string | undefined,
  { all = false, json = false, stream, consumer }: RedriveOptions,
): Promise<ExitCode> => {
  if ((position === undefined) !== all)
    throw new CommandError('Name one position from runledger dead-letters list, or use --all.');
  if (!all && (stream !== undefined || consumer !== undefined))
    throw new CommandError('Use --stream and --consumer only with --all.');
  const filter = { ...(stream && { stream }), ...(consumer && { consumer }) };
  const messages =
    position === undefined
      ? readDeadLetters(operator.log, filter)
      : [await deadLetterAt(operator.log, position)];
  const redriven = { kind: 'dead_letter', id: position ?? null };
  return operator.record({ action: 'dead_letter.redriven', org_id: null, target: redriven }, () =>
    redriveEach(operator, messages, json),
  );
};

const redriveEach = async (
  { log, screen }: Pick<Operator, 'log' | 'screen'>,
  messages: AsyncIterable<ListedDeadLetter> | Iterable<ListedDeadLetter>,
  json: boolean,
): Promise<ExitCode> => {
  const redrive = redriving(log, ANSWER_WITHIN_MS);
  let [redriven, left] = [0, 0];
  for await (const message of messages) {
    const result = await redrive(message);
    redriven += 1;
    if (result.outcome !== 'taken') left += 1;
    if (json) screen.printJson(result);
    else screen.print(sentence(result));
  }
  if (redriven === 0 && !json) screen.hint('No dead letter matches.');
  return left === 0 ? EXIT.done : EXIT.notDone;
};

const sentence = ({ position, outcome, why }: Redriven): string => {
  const because = plain(why);
  switch (outcome) {
    case 'taken':
      return `${position} was redriven and removed: ${because}`;
    case 'refused':
      return `${position} was refused again and stays: ${because}`;
    case 'no_response':
    case 'no_responder':
      return `${position} stays: ${because}`;
  }
};
