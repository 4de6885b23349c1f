import { runLines } from './single-run.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { runChanges } from '@runledger/contracts/http/runs/run-history';
import type { JsonValue } from '@runledger/contracts/json';
import { nullable } from '@runledger/contracts/schemas';
import { RunLogCut, RunLogLine, RunLogNotice } from '@runledger/contracts/http/runs/run-logs';
import { Type, type Static } from 'typebox';
import type { CommandContext, Client } from '../command/command-context.ts';
import { ANSWER_WITHIN_MS, at, retryForAMinute, type ApiCall } from '../api/api-call.ts';
import type { ApiConnection } from '../api/connection.ts';
import { textResponse } from '../api/streams.ts';
import { plain, CommandError } from '../command/command-error.ts';
import { followRun } from './watch-run.ts';
import { RunResponse } from './run-response.ts';

/** The commands about what happened to a run, and how it was. */
export const addHistoryCommands = (program: Command, { withRun, add }: CommandContext): void => {
  add(
    program,
    'history <run>',
    'show what happened to a run: its facts, notifications, and lines of its logs',
  )
    .option('--follow', 'show what happens until it has ended and its notification is settled')
    .option('--changes', 'show all that each fact changed')
    .option('--svg', 'print a picture of where its time went')
    .action(withRun(history));
  add(
    program,
    'at <run> <moment>',
    'show a run as it was after the fact at this position, or at this time',
  ).action(
    withRun(async ({ call, screen }, run, moment: string) => {
      screen.result(await runAt(call, run, moment), (shown) => runLines(screen, shown));
    }),
  );
  add(program, 'diff <run> <from> <to>', 'show what changed of a run between two positions or times').action(
    withRun(showChanges),
  );
};

interface HistoryOptions {
  readonly follow?: boolean;
  readonly changes?: boolean;
  readonly svg?: boolean;
}

/** Prints what happened to a run, and with `follow` what happens until it has ended and its notification is settled. */
const history = async (client: Client, run: string, options: HistoryOptions): Promise<void> => {
  if (options.svg) client.screen.print((await historyPicture(client.connection, run)).trimEnd());
  else if (options.follow) await follow(client, run, options);
  else for (const entry of (await historyOf(client, run)).entries) printEntry(client, entry, options);
};

/** As SVG. */
export const historyPicture = (connection: ApiConnection, run: string): Promise<string> =>
  textResponse(connection, { method: 'GET', path: at`/run/${run}/history.svg` });

/** `logLines`: of the beginning and of the end of each log; the service's default when left out. */
const historyOf = ({ call }: Client, run: string, logLines?: number): Promise<HistoryResponse> =>
  call(HistoryResponse, {
    method: 'GET',
    path: at`/run/${run}/history`,
    query: { log_lines: logLines },
    answerWithinMs: ANSWER_WITHIN_MS,
  });

const NOTIFIED_EVERY_MS = 2_000;

/** Its log is for `runledger logs`: what is new of it is more than lines of its end. */
const follow = async (client: Client, run: string, options: HistoryOptions): Promise<void> => {
  const printed = new Set<string>();
  const printNew = async (): Promise<HistoryResponse> => {
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

const isNotifying = ({ webhook_status }: HistoryResponse): boolean =>
  webhook_status === 'not-started' || webhook_status === 'running';

const nameOf = (entry: HistoryEntry): string =>
  entry.kind === 'fact' ? `fact ${entry.sequence}` : JSON.stringify([entry.kind, entry.time, entry]);

const printEntry = ({ screen }: Client, entry: HistoryEntry, { changes = false }: HistoryOptions): void => {
  if (screen.isJson()) return screen.printJson(entry);
  const [first = '', ...rest] = wordsOf(entry);
  screen.print(first);
  for (const line of rest) screen.print(`    ${line}`);
  if (!changes || entry.kind !== 'fact') return;
  for (const { member, before, after } of entry.changes ?? [])
    screen.print(`    ${plain(member)}: ${valueWords(before)} -> ${valueWords(after)}`);
};

/** The lines of an entry. Nothing is cut off: the end of a message is often what matters. */
const wordsOf = (entry: HistoryEntry): string[] => {
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
  { time, ...entry }: HistoryEntry,
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
const changeOf = ({ changes }: Extract<HistoryEntry, { kind: 'fact' }>): string => {
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

const logWords = (log: Extract<HistoryEntry, { kind: 'log' }>['log']): string => {
  if ('line' in log) return `attempt ${log.attempt}: ${plain(log.line)}`;
  if ('cut' in log) return `attempt ${log.attempt}: [${log.cut.lines} more lines, ${log.cut.bytes} bytes]`;
  return `attempt ${log.attempt}: ${plain(log.notice)}`;
};

/** Shows what changed of a run between two moments. */
const showChanges = async (
  { call, screen }: Client,
  run: string,
  from: string,
  to: string,
): Promise<void> => {
  const [before, after] = await Promise.all([runAt(call, run, from), runAt(call, run, to)]);
  // The answers have more members than commands know. All of them are JSON.
  const changes = runChanges(members(before), members(after));
  for (const change of changes)
    screen.result(
      change,
      ({ member, before: former, after: now }) =>
        `${plain(member)}: ${valueWords(former)} -> ${valueWords(now)}`,
    );
  if (changes.length === 0) screen.hint('Nothing differs.');
};

const runAt = (call: ApiCall, run: string, moment: string): Promise<RunResponse> =>
  call(RunResponse, {
    method: 'GET',
    path: at`/run/${run}`,
    query: momentOf(moment),
    answerWithinMs: ANSWER_WITHIN_MS,
  });

const members = (shown: object): Readonly<Record<string, JsonValue>> => ({ ...shown });

const TIME = /^\d{4}-\d{2}-\d{2}/;
const POSITION = /^[1-9]\d{0,14}$/;

/** A position in the log, or a time. @throws CommandError */
const momentOf = (text: string): { readonly at_seq: number } | { readonly at: string } => {
  if (POSITION.test(text)) return { at_seq: Number(text) };
  if (TIME.test(text)) return { at: text };
  throw new CommandError(
    `"${plain(text)}" is no moment. Write the sequence of a fact, as runledger history --json shows it, or a time such as 2026-05-01T12:00:00Z.`,
  );
};

/** A value of a response for people: a text as it is, everything else as JSON, and nothing as `-`. */
const valueWords = (value: unknown): string => {
  if (value === null || value === undefined) return '-';
  return plain(typeof value === 'string' ? value : JSON.stringify(value));
};

const Kind = <const Name extends string>(kind: Name) =>
  Type.Object({ kind: Type.Literal(kind), time: Type.String() });

const Change = Type.Object({
  member: Type.String(),
  before: Type.Unknown(),
  after: Type.Unknown(),
});

const Fact = Type.Object({
  ...Kind('fact').properties,
  sequence: Type.Integer(),
  type: Type.String(),
  writer: Type.String(),
  sentence: Type.String(),
  changes: nullable(Type.Array(Change)),
});
const Delivery = Type.Object({ ...Kind('delivery').properties, sentence: Type.String() });
const Log = Type.Object({
  ...Kind('log').properties,
  log: Type.Union([RunLogLine, RunLogCut, RunLogNotice]),
});
const Gap = Type.Object({
  ...Kind('gap').properties,
  sequence: nullable(Type.Integer()),
  reason: Type.String(),
  sentence: Type.String(),
});

/** What commands show of an entry. `--json` prints all members of the answer. */
const Entry = Type.Union([Fact, Delivery, Log, Gap]);
type HistoryEntry = Static<typeof Entry>;

const HistoryResponse = Type.Object({
  status: nullable(Type.String()),
  finished: Type.Boolean(),
  webhook_status: nullable(Type.String()),
  entries: Type.Array(Entry),
});
type HistoryResponse = Static<typeof HistoryResponse>;
