import { isDeepStrictEqual } from 'node:util';
import { outageMsIn } from '../cluster/outages.ts';
import type { Exchange } from '../clients/client-records.ts';
import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { filesOf, outputsDeletedAt } from '../evidence/logged-run.ts';

const guarantee =
  'What was deleted is shown by no read after the answer, and its files are erased. Nothing else is.';

export const deletions: Check = (evidence) => [
  ...unwanted(evidence),
  ...withoutEffect(evidence),
  ...stillThere(evidence),
  ...filesIn(evidence),
  ...recordsIn(evidence),
];

/** A run that no client wanted to delete. */
const unwanted = ({ records, runs }: Evidence): Violation[] => {
  const asked = (kind: Exchange['kind']) =>
    new Set(records.exchanges.flatMap((one) => (one.kind === kind ? [one.run] : [])));
  const [ofRuns, ofOutputs] = [asked('delete_run'), asked('delete_outputs')];
  return [...runs].flatMap(([run, { facts }]) =>
    facts.flatMap(({ event: { type } }) => {
      const isWanted =
        (type !== 'RunDeleted' || ofRuns.has(run)) && (type !== 'RunOutputsDeleted' || ofOutputs.has(run));
      return isWanted
        ? []
        : [{ guarantee, run, message: `The log has ${type}, but no client asked for it.` }];
    }),
  );
};

/** An answer that the log does not confirm. */
const withoutEffect = ({ records, runs }: Evidence): Violation[] =>
  records.exchanges.flatMap(({ kind, run, answer, gateway }) => {
    const logged = run === null ? undefined : runs.get(run);
    if (answer.kind !== 'deleted' || !logged) return [];
    const isDone = kind === 'delete_run' ? logged.isDeleted : outputsDeletedAt(logged) !== undefined;
    return isDone
      ? []
      : [{ guarantee, run, message: `${gateway} answered ${kind} with 200 and stored nothing.` }];
  });

/** Requests that were sent after the answer of 200 to a deletion. */
const stillThere = (evidence: Evidence): Violation[] => {
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
    return why === undefined ? [] : [{ guarantee, run, at: sentAt, message: `${gateway} ${why}: ${what}.` }];
  });
};

/** What was deleted is not found, or the gateway cannot know now. */
const isAnswered = ({ kind, answer }: Exchange): string | undefined => {
  if (kind !== 'after_deletion' || answer.kind === 'lost') return undefined;
  if (answer.kind === 'refused' && (answer.status === 404 || answer.status === 503)) return undefined;
  return `answered with ${answer.kind === 'refused' ? `${answer.status}: ${answer.why}` : answer.kind}`;
};

/** A gateway needs this time to connect to the broker again. */
const SETTLE_MS = 10_000;

/** Views that are behind answer alone then. */
const isLogAway = ({ sentAt: from, seenAt: to }: Exchange, { faults }: Evidence): boolean =>
  outageMsIn(faults.outages, { roles: ['broker'], settleMs: SETTLE_MS, from, to }) > 0;

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

const filesIn = ({ runs, files }: Evidence): Violation[] =>
  files.flatMap(({ gateway, run, key, status, sha256 }) => {
    const logged = runs.get(run);
    const file = logged && filesOf(logged).find((one) => one.key === key);
    if (!logged || !file) return [];
    const found = (message: string) => [{ guarantee, run, message: `${gateway} ${message}` }];
    if (outputsDeletedAt(logged) !== undefined)
      return status === 404 ? [] : found(`answers ${status} for ${file.filename}, which was deleted.`);
    if (status !== 200) return found(`answers ${status} for ${file.filename}, which nobody deleted.`);
    return sha256 === file.sha256 ? [] : found(`shows ${file.filename} with another content.`);
  });

const recordsIn = ({ records, catalogue }: Evidence): Violation[] => {
  const created = new Map(records.catalogue.map((record) => [record.path, record]));
  return catalogue.flatMap(({ gateway, path, status, body, isListed: listed }) => {
    const { state = 'deleting', members = {} } = created.get(path) ?? {};
    const found = (message: string) => [{ guarantee, run: null, message: `${gateway} ${message}: ${path}.` }];
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
