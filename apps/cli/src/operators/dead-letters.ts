import type { ListOptions } from '../command/list-pages.ts';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import {
  listDeadLetters,
  type ListedDeadLetter,
  readDeadLetter,
} from '@runledger/event-log/streams/dead-letters';
import { redriving, type Redriven } from '@runledger/request-reply/redrive';
import { parseJson } from '@runledger/contracts/json';
import { CommandError, plain, shorten, EXIT, type ExitCode } from '../command/command-error.ts';
import { wholeNumberIn } from '../command/option-values.ts';
import type { Operator } from '../command/command-context.ts';
import { rowLines, headLine, rowLine, type Column } from '../command/table.ts';

interface DeadLetterFilter {
  readonly stream?: string;
  readonly consumer?: string;
}

export interface DeadLetterListOptions extends DeadLetterFilter, ListOptions {}

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
  { limit: wanted, ...filter }: DeadLetterListOptions,
): Promise<void> => {
  const limit = wholeNumberIn('--limit', wanted, { least: 1, most: MAX_LISTED });
  const json = screen.isJson();
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
const readDeadLetters = async function* (
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

const LONGEST = 1_000;

/** Shows one dead letter: the reason, where it came from and its content. @throws CommandError */
export const showDeadLetter = async ({ log, screen }: Operator, position: string): Promise<void> =>
  screen.result(await deadLetterAt(log, position), (message) => [
    ...rowLines(screen, [
      ['position', String(message.position)],
      ['consumer', message.consumer],
      ['stream', message.stream],
      ['sequence', String(message.sequence)],
      ['subject', shorten(message.subject, LONGEST)],
      ['time', message.time],
      ['reason', shorten(message.reason, LONGEST)],
      ...Object.entries(message.headers).map(([name, values]) => headerRow(name, values)),
    ]),
    '',
    ...bodyLines(message),
  ]);

/** @throws CommandError without a dead letter at the position */
const deadLetterAt = async (log: EventLog, position: string): Promise<ListedDeadLetter> => {
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

export interface RedriveOptions extends DeadLetterFilter {
  readonly all?: boolean;
}

const ANSWER_WITHIN_MS = 15_000;

/** Redrives one dead letter or all that match, and prints the outcome of each. @throws CommandError */
export const redriveDeadLetters = async (
  operator: Operator,
  position: string | undefined,
  { all = false, stream, consumer }: RedriveOptions,
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
    redriveEach(operator, messages),
  );
};

const redriveEach = async (
  { log, screen }: Operator,
  messages: AsyncIterable<ListedDeadLetter> | Iterable<ListedDeadLetter>,
): Promise<ExitCode> => {
  const redrive = redriving(log, ANSWER_WITHIN_MS);
  let [redriven, left] = [0, 0];
  for await (const message of messages) {
    const result = await redrive(message);
    redriven += 1;
    if (result.outcome !== 'taken') left += 1;
    screen.result(result, sentence);
  }
  if (redriven === 0 && !screen.isJson()) screen.hint('No dead letter matches.');
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

const MAX_LINES = 100;
const MAX_LINE_LENGTH = 400;

/** The content of a dead letter in lines that are safe for a terminal. It may hold anything. */
const bodyLines = ({ data, stream, sequence }: ListedDeadLetter): string[] => {
  if (data === null)
    return [
      `Its content is too large for a dead letter. The message is in ${stream} at sequence ${sequence} until it expires.`,
    ];
  const text = Buffer.from(data, 'base64').toString();
  const json = parseJson(text);
  const lines = (json === undefined ? text : JSON.stringify(json, null, 2)).split('\n');
  const shown = lines.slice(0, MAX_LINES).map(plainLine);
  return lines.length > MAX_LINES
    ? [...shown, `… and ${lines.length - MAX_LINES} more lines: see all with --json`]
    : shown;
};

const plainLine = (line: string): string => {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return shorten(`${indent}${plain(line)}`, MAX_LINE_LENGTH);
};
