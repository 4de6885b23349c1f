import { isEnded } from '@runledger/contracts/fold/run';
import type { Check, ShownLogs } from '../evidence/evidence.ts';
import { lastOf, linesRequestedBy, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee =
  'The logs of a run hold what its attempts wrote and nothing else, and those that are kept are whole.';

export const logs: Check = ({ logs: shown, runs }) =>
  shown.flatMap((one) => {
    const logged = runs.get(one.run);
    const message = logged && wrongIn(one, logged);
    return message === undefined ? [] : [{ guarantee, run: one.run, message: `${one.gateway} ${message}` }];
  });

/** The check of deletions is about deleted runs. */
const wrongIn = ({ status, items }: ShownLogs, logged: LoggedRun): string | undefined => {
  if (logged.isDeleted) return undefined;
  if (status !== 200) return `answers ${status} for the logs.`;
  const last = lastOf(logged);
  const attempts = Map.groupBy(items, ({ attempt }) => attempt);
  for (const [attempt, own] of attempts) {
    const lines = own.flatMap((item) => ('line' in item && item.stream === 'stdout' ? [item.line] : []));
    const written = linesOf(logged, attempt);
    if (!isPartOf(lines, written)) return `shows of attempt ${attempt}: ${JSON.stringify(lines)}`;
  }
  const isKept = last && isEnded(last) && last.status === 'success' && last.log_blob !== undefined;
  const number = last?.attempt?.number;
  if (!isKept || number === undefined) return undefined;
  const shown = (attempts.get(number) ?? []).filter((item) => 'line' in item).length;
  const expected = linesRequestedBy(logged);
  return shown === expected ? undefined : `shows ${shown} of ${expected} lines of attempt ${number}.`;
};

const linesOf = (logged: LoggedRun, attempt: number): string[] =>
  Array.from(
    { length: linesRequestedBy(logged) },
    (_, at) => `${logged.key.run_id}.${attempt} line ${at + 1}`,
  );

/** In this order, each at most once. */
const isPartOf = (lines: readonly string[], written: readonly string[]): boolean => {
  let next = 0;
  return lines.every((line) => {
    const at = written.indexOf(line, next);
    next = at + 1;
    return at !== -1;
  });
};
