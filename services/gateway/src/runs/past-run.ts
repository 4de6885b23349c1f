import { isDeleted } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { RunId } from '@runledger/contracts/ids';
import { TimeOrDay } from '@runledger/contracts/http/fields';
import { Type, type Static } from 'typebox';
import type { CurrentRun } from './facts/current-run.ts';
import type { RunView } from '../views/run-view.ts';
import { isUpTo, runSteps, type Moment } from './waterfall.decide.ts';
import { withoutDeleted } from './history.decide.ts';
import { notFound, Refused, invalid, type Invalid } from '../door/refusal.ts';
import { actOnEach } from '../act-on-each.ts';
import { own } from '../door/compiled.ts';
import { notFoundRun } from './run-path.ts';
import type { Runs } from './runs.ts';

type PastRun =
  | CurrentRun
  /** It was queued later. */
  | { readonly kind: 'not_yet' }
  /** Neither the log nor the archive has the facts any more, or ever had them. */
  | { readonly kind: 'forgotten' };

/** The run as it was, by the fold that serves it now. @throws {LogUnavailable} @throws {ArchiveUnavailable} */
const readPast = async ({ archive, current }: Runs, key: RunKey, moment: Moment): Promise<PastRun> => {
  const now = await current(key);
  if (now.kind !== 'found' || saysAll(now, moment)) return now;
  const messages = await archive.read(key);
  if (!messages || (messages.isOfOtherLog && 'sequence' in moment)) return { kind: 'forgotten' };
  const steps = runSteps(messages);
  const last = steps.findLast((step) => isUpTo(moment, step));
  const beganWith = steps[0]?.step;
  if (!last) return { kind: beganWith?.kind === 'fact' && beganWith.states ? 'not_yet' : 'forgotten' };
  const { run, webhook } = last.after;
  if (!run || isDeleted(run)) return { kind: 'forgotten' };
  const head = { head: last.sequence, state: webhook };
  return { kind: 'found', head: last.sequence, run: withoutDeleted(run, now.run), webhook: head };
};

/** Nothing followed the moment, so that the log need not have the run any more. A run of another log has no position in this one. */
const saysAll = ({ head, run, webhook }: RunView, moment: Moment): boolean =>
  (head > 0 || 'time' in moment) &&
  isUpTo(moment, { sequence: Math.max(head, webhook.head), time: run.updated_at }) &&
  (webhook.state === undefined || isUpTo(moment, { sequence: webhook.head, time: webhook.state.updated_at }));

/**
 * The runs of a page as they were at a time, in milliseconds since 1970. Most have ended before, or are as they were: their views say it.
 * `unknown`: those that existed then, and of which neither the log nor the archive has the facts any more.
 * @throws {LogUnavailable} @throws {ArchiveUnavailable}
 */
export const pastRuns = async (
  runs: Runs,
  viewed: readonly RunView[],
  time: number,
): Promise<{ readonly known: readonly RunView[]; readonly unknown: readonly RunId[] }> => {
  const unknown: RunId[] = [];
  const read = async (view: RunView): Promise<RunView[]> => {
    if (saysAll(view, { time })) return [view];
    const { org_id, run_id } = view.run;
    const then = await readPast(runs, { org_id, run_id }, { time });
    switch (then.kind) {
      case 'found':
        return [then];
      case 'forgotten':
      case 'unreadable':
      case 'views_unavailable':
        unknown.push(run_id);
        return [];
      case 'none':
      case 'deleted':
      case 'not_yet':
        return [];
    }
  };
  const known = (await actOnEach(viewed, read)).flat();
  return { known, unknown };
};

/** In a query: which moment of a run. */
export const AtMoment = {
  at_seq: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [4711],
      description:
        'The run as it was after the fact at this position in the log, as `sequence` in its history and its events.',
    }),
  ),
  at: Type.Optional({ ...TimeOrDay, description: 'The run as it was at this time of the broker.' }),
};

/** Undefined for now. */
export const momentOf = ({
  at_seq,
  at,
}: {
  readonly at_seq?: number | undefined;
  readonly at?: Static<typeof TimeOrDay> | undefined;
}): Moment | undefined => {
  if (at_seq !== undefined) return { sequence: at_seq };
  return at === undefined ? undefined : { time: Date.parse(at) };
};

/** At most one of these members of a query may be given. */
export const exclusiveProblems = (query: unknown, names: readonly string[]): Invalid[] =>
  names
    .filter((name) => own(query, name) !== undefined)
    .slice(1)
    .map((name) => invalid(['query', name], 'value_error', `Give at most one of ${names.join(', ')}`));

/** @throws {Refused} when there was no run then, or when nobody knows how it was */
export const runAt = async (runs: Runs, key: RunKey, moment: Moment): Promise<RunView> => {
  const found = await readPast(runs, key, moment);
  switch (found.kind) {
    case 'found':
      return found;
    case 'not_yet':
      throw notFound('Run at that time');
    case 'forgotten':
      throw new Refused({ code: 'run_history_expired', why: FORGOTTEN });
    case 'none':
    case 'deleted':
    case 'unreadable':
    case 'views_unavailable':
      throw notFoundRun(found);
  }
};

const FORGOTTEN =
  'Neither the log nor the archive has the facts of the run up to then: the log keeps them for 7 days by default, and the archive, where there is one, for as long as the run. Read the run without at_seq and at';
