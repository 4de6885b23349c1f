import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../api-client/client.ts';
import { ANSWER_WITHIN_MS, at } from '../api-client/api-call.ts';
import type { ApiConnection } from '../api-client/connection.ts';
import { ShownHistory, type ShownEntry } from '../api-client/history-responses.ts';
import { textResponse } from '../api-client/streamed-response.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { followRun } from '../runs/follow-run.ts';
import { valueWords } from './value-words.ts';

export interface HistoryOptions {
  readonly follow?: boolean;
  readonly changes?: boolean;
  readonly svg?: boolean;
  readonly json?: boolean;
}

/** Prints what happened to a run, and with `follow` what happens until it has ended and its notification is settled. */
export const history = async (client: Client, run: string, options: HistoryOptions): Promise<ExitCode> => {
  if (options.svg) client.screen.print((await historyPicture(client.connection, run)).trimEnd());
  else if (options.follow) await follow(client, run, options);
  else for (const entry of (await historyOf(client, run)).entries) printEntry(client, entry, options);
  return EXIT.done;
};

/** As SVG. */
export const historyPicture = (connection: ApiConnection, run: string): Promise<string> =>
  textResponse(connection, { method: 'GET', path: at`/run/${run}/history.svg` });

/** `logLines`: of the beginning and of the end of each log; the service's default when left out. */
const historyOf = ({ call }: Client, run: string, logLines?: number): Promise<ShownHistory> =>
  call(ShownHistory, {
    method: 'GET',
    path: at`/run/${run}/history`,
    query: { log_lines: logLines },
    answerWithinMs: ANSWER_WITHIN_MS,
  });

const NOTIFIED_EVERY_MS = 2_000;

/** Its log is for `runledger logs`: what is new of it is more than lines of its end. */
const follow = async (client: Client, run: string, options: HistoryOptions): Promise<void> => {
  const printed = new Set<string>();
  const printNew = async (): Promise<ShownHistory> => {
    const read = await retryForAMinute(() => historyOf(client, run, 0), client.screen);
    for (const entry of read.entries) {
      const name = nameOf(entry);
      if (!printed.has(name)) printEntry(client, entry, options);
      printed.add(name);
    }
    return read;
  };
  let updated: string | undefined;
  for await (const { updated_at } of followRun(client, run)) {
    if (updated_at !== updated) await printNew();
    updated = updated_at;
  }
  while (isNotifying(await printNew())) await pause(NOTIFIED_EVERY_MS);
};

const isNotifying = ({ webhook_status }: ShownHistory): boolean =>
  webhook_status === 'not-started' || webhook_status === 'running';

const nameOf = (entry: ShownEntry): string =>
  entry.kind === 'fact' ? `fact ${entry.sequence}` : JSON.stringify([entry.kind, entry.time, entry]);

const printEntry = (
  { screen }: Pick<Client, 'screen'>,
  entry: ShownEntry,
  { json = false, changes = false }: HistoryOptions,
): void => {
  if (json) return screen.printJson(entry);
  const [first = '', ...rest] = wordsOf(entry);
  screen.print(first);
  for (const line of rest) screen.print(`    ${line}`);
  if (!changes || entry.kind !== 'fact') return;
  for (const { member, before, after } of entry.changes ?? [])
    screen.print(`    ${plain(member)}: ${valueWords(before)} -> ${valueWords(after)}`);
};

/** The lines of an entry. Nothing is cut off: the end of a message is often what matters. */
const wordsOf = (entry: ShownEntry): string[] => {
  switch (entry.kind) {
    case 'fact': {
      const [first = '', ...rest] = linesOf(entry.sentence);
      return [row(entry, entry.type, first, [plain(entry.writer), changeOf(entry)]), ...rest];
    }
    case 'delivery': {
      const [first = '', ...rest] = linesOf(entry.sentence);
      return [row(entry, 'delivery', first), ...rest];
    }
    case 'gap':
      return [row(entry, `(${entry.reason})`, plain(entry.sentence))];
    case 'log':
      return [row(entry, 'log', logWords(entry.log))];
  }
};

const row = (
  { time, ...entry }: ShownEntry,
  what: string,
  words: string,
  [writer, change]: readonly [string, string] = ['', ''],
): string => {
  const sequence = 'sequence' in entry && entry.sequence !== null ? String(entry.sequence) : '';
  return [time, sequence.padStart(7), plain(what).padEnd(18), writer.padEnd(12), change.padEnd(24), words]
    .join('  ')
    .trimEnd();
};

const linesOf = (text: string): string[] => text.split('\n').map(plain);

/** The change of the run's status, or of its notifications. */
const changeOf = ({ changes }: Extract<ShownEntry, { kind: 'fact' }>): string => {
  for (const [member, name] of [
    ['status', ''],
    ['webhook_status', 'webhook '],
  ] as const) {
    const change = changes?.find((one) => one.member === member);
    if (change && change.before !== null)
      return `${name}${valueWords(change.before)} -> ${valueWords(change.after)}`;
    if (change) return `${name}${valueWords(change.after)}`;
  }
  return '';
};

const logWords = (log: Extract<ShownEntry, { kind: 'log' }>['log']): string => {
  if ('line' in log) return `attempt ${log.attempt}: ${plain(log.line)}`;
  if ('cut' in log) return `attempt ${log.attempt}: [${log.cut.lines} more lines, ${log.cut.bytes} bytes]`;
  return `attempt ${log.attempt}: ${plain(log.notice)}`;
};
