import type { ClientRecords, Exchange, ShownRun } from '../clients/client-records.ts';
import { factsUntilEnd, type LoggedRun } from '../evidence/logged-run.ts';

/** The positions in the log that fit an observation. */
interface PositionRange {
  readonly atLeast: number;
  readonly atMost: number;
}

/** What a client or receiver saw of a run. */
export interface Observation extends PositionRange {
  /** Who showed it, and what. */
  readonly by: string;
  readonly sentAt: number;
  readonly seenAt: number;
}

/** A later request was answered with less than was known before it was sent. */
export interface Regression {
  readonly known: Observation;
  readonly later: Observation;
}

/** Only answers that were seen before a request was sent bind the answer to that request. */
export const findRegression = (observations: readonly Observation[]): Regression | undefined => {
  const bySeen = observations.toSorted((one, other) => one.seenAt - other.seenAt);
  let known: Observation | undefined;
  let next = 0;
  for (const later of observations.toSorted((one, other) => one.sentAt - other.sentAt)) {
    for (let seen = bySeen[next]; seen && seen.seenAt < later.sentAt; seen = bySeen[++next])
      if (known === undefined || seen.atLeast > known.atLeast) known = seen;
    if (known && later.atMost < known.atLeast) return { known, later };
  }
  return undefined;
};

/** The positions at which the run was as it is shown; undefined if it never was. */
export const positionsOf = (
  { situations, facts, isDeleted }: LoggedRun,
  shown: ShownRun,
): PositionRange | undefined => {
  const end = isDeleted ? facts.at(-1)?.sequence : undefined;
  const fits = situations.flatMap(({ sequence, run }, at) => {
    const call = run.attempt === null ? null : `${run.run_id}.${run.attempt.number}`;
    const same =
      run.status === shown.status &&
      run.updated_at === shown.updated_at &&
      call === shown.compute_function_call_id &&
      (!('end_reason' in run) || run.end_reason === shown.end_reason);
    return same ? [{ sequence, before: (situations[at + 1]?.sequence ?? end ?? Infinity) - 1 }] : [];
  });
  const [first] = fits;
  const last = fits.at(-1);
  return first && last && { atLeast: first.sequence, atMost: last.before };
};

/** What all clients and receivers saw of the lifecycle of a run, without what fits no position. */
export const observationsOf = (
  logged: LoggedRun,
  exchanges: readonly Exchange[],
  { streams, received }: Pick<ClientRecords, 'streams' | 'received'>,
): Observation[] => [
  ...exchanges.flatMap((exchange) => {
    const positions = positionsIn(logged, exchange);
    const by = `${exchange.gateway} to ${exchange.kind}`;
    return positions ? [{ by, sentAt: exchange.sentAt, seenAt: exchange.seenAt, ...positions }] : [];
  }),
  // A stream that began earlier may send old facts at any time. It adds to what is known, and is no regression.
  ...streams.flatMap(({ facts }) =>
    facts.map(({ at, fact }) => pushed(`a stream with ${fact.type}`, at, fact.sequence)),
  ),
  ...received.map(({ at, payload }) =>
    pushed(`a notification with status ${payload.status}`, at, payload.sequence),
  ),
];

/** The position of the deletion that was answered, or that explains a 404. */
const deletedIn = ({ facts }: LoggedRun): number | undefined =>
  facts.findLast(({ event }) => event.type === 'RunDeleted' || event.type === 'RunOutputsDeleted')?.sequence;

const pushed = (by: string, seenAt: number, sequence: number): Observation => ({
  by,
  sentAt: -Infinity,
  seenAt,
  atLeast: sequence,
  atMost: Infinity,
});

const positionsIn = (logged: LoggedRun, { answer }: Exchange): PositionRange | undefined => {
  const atLeast = (sequence: number | undefined) =>
    sequence === undefined ? undefined : { atLeast: sequence, atMost: Infinity };
  switch (answer.kind) {
    case 'queued':
      return atLeast(logged.facts[0]?.sequence);
    case 'shown':
      return positionsOf(logged, answer.shown);
    case 'cancelled':
      return atLeast(
        answer.outcome === 'already_ended'
          ? factsUntilEnd(logged).at(-1)?.sequence
          : logged.facts.find(({ event }) => event.type === 'RunCancelRequested')?.sequence,
      );
    case 'deleted':
      return atLeast(deletedIn(logged));
    case 'refused':
      return answer.status === 404 ? atLeast(deletedIn(logged)) : undefined;
    case 'cancelled_many':
    case 'redelivered':
    case 'drain_state':
    case 'created':
    case 'uploaded':
    case 'done':
    case 'listed':
    case 'lost':
      return undefined;
  }
};
