import { TimeOrDay } from '@runledger/contracts/http/fields/values';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Type, type Static } from 'typebox';
import { notFound, Refused, invalid, type Invalid } from '../../http/refusal.ts';
import { own } from '../../validation/node.ts';
import { notFoundRun } from '../current/run-path.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { Moment } from './core/run-steps.ts';
import type { ReadPastRun } from './past-run.ts';

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
export const runAt = async (past: ReadPastRun, key: RunKey, moment: Moment): Promise<RunView> => {
  const found = await past(key, moment);
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
