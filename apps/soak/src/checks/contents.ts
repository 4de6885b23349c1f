import { isDeepStrictEqual } from 'node:util';
import { wasBrokerAway } from '../cluster/outages.ts';
import type { Exchange } from '../clients/client-records.ts';
import type { Check, Evidence, Finding, LogsResponse } from '../evidence/evidence.ts';
import {
  type LoggedRun,
  factsUntilEnd,
  filesOf,
  inputFileRequestOf,
  lastOf,
  linesRequestedBy,
  outputsDeletedAt,
} from '../evidence/logged-run.ts';
import { createHash } from 'node:crypto';
import { isEnded } from '@runledger/contracts/fold/run';
import { inputFileOf } from '../clients/client-context.ts';

export const deletions: Check = (evidence) => [
  ...unwanted(evidence),
  ...withoutEffect(evidence),
  ...stillThere(evidence),
  ...filesIn(evidence),
  ...recordsIn(evidence),
];

/** A run that no client wanted to delete. */
const unwanted = ({ records, runs }: Evidence): Finding[] => {
  const asked = (kind: Exchange['kind']) =>
    new Set(records.exchanges.flatMap((one) => (one.kind === kind ? [one.run] : [])));
  const [ofRuns, ofOutputs] = [asked('delete_run'), asked('delete_outputs')];
  return [...runs].flatMap(([run, { facts }]) =>
    facts.flatMap(({ event: { type } }) => {
      const isWanted =
        (type !== 'RunDeleted' || ofRuns.has(run)) && (type !== 'RunOutputsDeleted' || ofOutputs.has(run));
      return isWanted ? [] : [{ run, message: `The log has ${type}, but no client asked for it.` }];
    }),
  );
};

/** An answer that the log does not confirm. */
const withoutEffect = ({ records, runs }: Evidence): Finding[] =>
  records.exchanges.flatMap(({ kind, run, answer, gateway }) => {
    const logged = run === null ? undefined : runs.get(run);
    if (answer.kind !== 'deleted' || !logged) return [];
    const isDone = kind === 'delete_run' ? logged.isDeleted : outputsDeletedAt(logged) !== undefined;
    return isDone ? [] : [{ run, message: `${gateway} answered ${kind} with 200 and stored nothing.` }];
  });

/** Requests that were sent after the answer of 200 to a deletion. */
const stillThere = (evidence: Evidence): Finding[] => {
  const { records } = evidence;
  const deletedAt = new Map<string, number>();
  for (const { kind, run, answer, seenAt } of records.exchanges)
    if (answer.kind === 'deleted' && run !== null) deletedAt.set(`${kind} ${run}`, seenAt);
  return records.exchanges.flatMap((exchange) => {
    const { run, sentAt, gateway, what } = exchange;
    const wasDeleted = (kind: 'delete_run' | 'delete_outputs'): boolean =>
      (deletedAt.get(`${kind} ${run}`) ?? Infinity) < sentAt;
    const why =
      (isLogAway(exchange, evidence)
        ? undefined
        : (isAnswered(exchange) ?? isListed(exchange, wasDeleted))) ??
      (isQueuedAgain(exchange) ? 'queued a run for the key of a deleted one' : undefined);
    return why === undefined ? [] : [{ run, at: sentAt, message: `${gateway} ${why}: ${what}.` }];
  });
};

/** What was deleted is not found, or the gateway cannot know now. */
const isAnswered = ({ kind, answer }: Exchange): string | undefined => {
  if (kind !== 'after_deletion' || answer.kind === 'lost') return undefined;
  if (answer.kind === 'refused' && (answer.status === 404 || answer.status === 503)) return undefined;
  return `answered with ${answer.kind === 'refused' ? `${answer.status}: ${answer.why}` : answer.kind}`;
};

/** Views that are behind answer alone then. */
const isLogAway = ({ sentAt: from, seenAt: to }: Exchange, { faults }: Evidence): boolean =>
  wasBrokerAway(faults.outages, { from, to });

const isListed = (
  { run, answer }: Exchange,
  wasDeleted: (kind: 'delete_run' | 'delete_outputs') => boolean,
): string | undefined => {
  if (answer.kind !== 'listed' && answer.kind !== 'shown') return undefined;
  const shown = answer.kind === 'shown' ? answer.shown : answer.runs.find((one) => one.run === run)?.shown;
  if (!shown) return undefined;
  if (wasDeleted('delete_run')) return 'showed a deleted run';
  const { texts, files } = shown;
  return wasDeleted('delete_outputs') && texts.length + files.length > 0
    ? 'showed deleted outputs'
    : undefined;
};

/** The archive has the deletion for as long as the run would have been kept. */
const isQueuedAgain = ({ kind, answer }: Exchange): boolean =>
  kind === 'queue_deleted' && answer.kind === 'queued';

const filesIn = ({ runs, files }: Evidence): Finding[] =>
  files.flatMap(({ gateway, run, key, status, sha256 }) => {
    const logged = runs.get(run);
    const file = logged && filesOf(logged).find((one) => one.key === key);
    if (!logged || !file) return [];
    const found = (message: string) => [{ run, message: `${gateway} ${message}` }];
    if (outputsDeletedAt(logged) !== undefined)
      return status === 404 ? [] : found(`answers ${status} for ${file.filename}, which was deleted.`);
    if (status !== 200) return found(`answers ${status} for ${file.filename}, which nobody deleted.`);
    return sha256 === file.sha256 ? [] : found(`shows ${file.filename} with another content.`);
  });

const recordsIn = ({ records, catalogue }: Evidence): Finding[] => {
  const created = new Map(records.catalogue.map((record) => [record.path, record]));
  return catalogue.flatMap(({ gateway, path, status, body, isListed: listed }) => {
    const { state = 'deleting', members = {} } = created.get(path) ?? {};
    const found = (message: string) => [{ run: null, message: `${gateway} ${message}: ${path}.` }];
    if (state === 'deleted')
      return status === 404 && !listed ? [] : found(`shows a deleted record (${status}, listed: ${listed})`);
    if (state !== 'kept') return [];
    if (status !== 200 || !listed) return found(`does not show a record (${status}, listed: ${listed})`);
    const isSame = Object.entries(members).every(([name, value]) =>
      isDeepStrictEqual((body as Record<string, unknown>)[name], value),
    );
    return isSame ? [] : found('shows a record with another content');
  });
};

/** Programs put out the SHA-256 of each file that they find. */
export const inputFiles: Check = ({ runs, org_id }) =>
  [...runs].flatMap(([run, logged]) => {
    if (logged.key.org_id !== org_id) return [];
    const message = wrongFileIn(logged);
    return message === undefined ? [] : [{ run, message }];
  });

const wrongFileIn = (logged: LoggedRun): string | undefined => {
  const last = lastOf(logged);
  if (last && isEnded(last) && last.error?.kind === 'input_unavailable')
    return `It ended without its file: ${last.error.message}`;
  const end = factsUntilEnd(logged).at(-1)?.event;
  if (end?.type !== 'RunSucceeded' || end.data.outputs === null) return undefined;
  const found = end.data.outputs
    .flatMap(({ data }) => data['text'] ?? [])
    .filter((item) => typeof item === 'string')
    .filter((text) => text.startsWith('input '));
  if (last?.request.inputs === null) return undefined;
  const request = inputFileRequestOf(logged);
  const expected = request === undefined ? [] : [`input ${sha256Of(JSON.stringify(inputFileOf(request)))}`];
  return found.join() === expected.join()
    ? undefined
    : `Its program found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}.`;
};

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

export const logs: Check = ({ logs: shown, runs }) =>
  shown.flatMap((one) => {
    const logged = runs.get(one.run);
    const message = logged && wrongLogIn(one, logged);
    return message === undefined ? [] : [{ run: one.run, message: `${one.gateway} ${message}` }];
  });

/** The check of deletions is about deleted runs. */
const wrongLogIn = ({ status, items }: LogsResponse, logged: LoggedRun): string | undefined => {
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
