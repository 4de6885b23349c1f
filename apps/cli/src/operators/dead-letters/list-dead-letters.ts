import type { EventLog } from '@runledger/event-log/connect/event-log';
import { listDeadLetters, type ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { CommandError } from '../../output/command-error.ts';
import { plain, shorten } from '../../output/plain-text.ts';
import { wholeNumberIn } from '../../options/numbers.ts';
import type { Operator } from '../../command/command-context.ts';
import { headLine, rowLine } from '../../output/table.ts';
import type { Column } from '../../output/table.ts';

export interface DeadLetterFilter {
  readonly stream?: string;
  readonly consumer?: string;
}

export interface DeadLetterListOptions extends DeadLetterFilter {
  readonly limit: string;
  readonly json?: boolean;
}

const MAX_LISTED = 10_000;
const LONGEST_REASON = 120;

const columns: readonly Column<ListedDeadLetter>[] = [
  { title: 'POSITION', width: 8, of: ({ position }) => String(position) },
  { title: 'CONSUMER', width: 20, of: ({ consumer }) => consumer },
  { title: 'STREAM', width: 8, of: ({ stream }) => stream },
  { title: 'SEQUENCE', width: 10, of: ({ sequence }) => String(sequence) },
  { title: 'TIME', width: 24, is: 'time', of: ({ time }) => time },
  { title: 'REASON', width: 0, of: ({ reason }) => shorten(plain(reason), LONGEST_REASON) },
];

/** Lists messages that consumers could not handle, oldest first. */
export const printDeadLetters = async (
  { log, screen }: Operator,
  { json = false, limit: wanted, ...filter }: DeadLetterListOptions,
): Promise<void> => {
  const limit = wholeNumberIn('--limit', wanted, { least: 1, most: MAX_LISTED });
  let listed = 0;
  for await (const message of readDeadLetters(log, filter)) {
    if (listed === limit) {
      if (!json) screen.hint(`There are more than ${limit}. Use a higher --limit to see them.`);
      return;
    }
    if (listed === 0 && !json) screen.print(headLine(screen, columns));
    if (json) screen.printJson(withoutBody(message));
    else screen.print(rowLine(screen, columns, message));
    listed += 1;
  }
  if (listed === 0 && !json) screen.hint('No dead letter matches.');
};

/** The dead letters that match, oldest first. @throws CommandError for an invalid filter */
export const readDeadLetters = async function* (
  log: EventLog,
  filter: DeadLetterFilter,
): AsyncGenerator<ListedDeadLetter> {
  checkToken('--stream', filter.stream);
  checkToken('--consumer', filter.consumer);
  for (let after = 0; ;) {
    const messages = await listDeadLetters(log, { ...filter, after, limit: 100 });
    const last = messages.at(-1);
    if (last === undefined) return;
    yield* messages;
    after = last.position;
  }
};

const checkToken = (option: string, name: string | undefined): void => {
  if (name !== undefined && !/^[\w-]+$/.test(name))
    throw new CommandError(
      `${option} ${plain(name)} is not a valid name. Use only letters, digits, "_" and "-".`,
    );
};

/** Headers and content may be large; `dead-letters show` prints them. */
const withoutBody = ({ headers: _headers, data: _data, ...message }: ListedDeadLetter): object => message;
