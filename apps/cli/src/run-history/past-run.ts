import { runChanges } from '@runledger/contracts/run-view/run-changes';
import type { JsonValue } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { ANSWER_WITHIN_MS, at, type ApiCall } from '../api-client/api-call.ts';
import { ShownRun } from '../api-client/run-responses.ts';
import { CommandError, EXIT, type ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { printRun } from '../runs/single-run.ts';
import { valueWords } from './value-words.ts';

/** Shows a run as it was. */
export const showRunAt = async (
  { call, screen }: Client,
  run: string,
  moment: string,
  json: boolean,
): Promise<ExitCode> => {
  const shown = await runAt(call, run, moment);
  if (json) screen.printJson(shown);
  else printRun(screen, shown);
  return EXIT.done;
};

/** Shows what changed of a run between two moments. */
export const showChanges = async (
  { call, screen }: Client,
  run: string,
  [from, to]: readonly [string, string],
  json: boolean,
): Promise<ExitCode> => {
  const [before, after] = await Promise.all([runAt(call, run, from), runAt(call, run, to)]);
  // The answers have more members than commands know. All of them are JSON.
  const changes = runChanges(members(before), members(after));
  for (const change of changes) {
    if (json) screen.printJson(change);
    else screen.print(`${plain(change.member)}: ${valueWords(change.before)} -> ${valueWords(change.after)}`);
  }
  if (changes.length === 0) screen.hint('Nothing differs.');
  return EXIT.done;
};

const runAt = (call: ApiCall, run: string, moment: string): Promise<ShownRun> =>
  call(ShownRun, {
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
