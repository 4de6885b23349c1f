import type { LoggedRun } from '../evidence/logged-run.ts';
import type { ClientRecords, Exchange, ShownRun } from '../clients/client-records.ts';

/** What somebody was told of a run, as the places in the log between which that lies. */
export interface Observation {
  /** Who told what. */
  readonly by: string;
  readonly sentAt: number;
  readonly seenAt: number;
  readonly atLeast: number;
  readonly atMost: number;
}

/** A later question was answered with less than was known before it was asked. */
export interface Regression {
  readonly known: Observation;
  readonly later: Observation;
}

/** Whoever had asked before the other was answered may be told less. */
export const findRegression = (sights: readonly Observation[]): Regression | undefined => {
  const bySeen = sights.toSorted((one, other) => one.seenAt - other.seenAt);
  let known: Observation | undefined;
  let next = 0;
  for (const later of sights.toSorted((one, other) => one.sentAt - other.sentAt)) {
    for (let seen = bySeen[next]; seen && seen.seenAt < later.sentAt; seen = bySeen[++next])
      if (known === undefined || seen.atLeast > known.atLeast) known = seen;
    if (known && later.atMost < known.atLeast) return { known, later };
  }
  return undefined;
};

/** The places at which the run was as it is shown; undefined when it never was. */
export const positionsOf = (
  { situations }: LoggedRun,
  shown: ShownRun,
): { readonly atLeast: number; readonly atMost: number } | undefined => {
  const fits = situations.flatMap(({ sequence, run }, at) => {
    const call = run.attempt === null ? null : `${run.run_id}.${run.attempt.number}`;
    const same =
      run.status === shown.status &&
      run.updated_at === shown.updated_at &&
      call === shown.compute_function_call_id &&
      (!('end_reason' in run) || run.end_reason === shown.end_reason);
    return same ? [{ sequence, before: (situations[at + 1]?.sequence ?? Infinity) - 1 }] : [];
  });
  const [first] = fits;
  const last = fits.at(-1);
  return first && last && { atLeast: first.sequence, atMost: last.before };
};

/** What all clients and receivers were told of the run's lifecycle. What is shown and never was is left out here. */
export const observationsOf = (
  logged: LoggedRun,
  exchanges: readonly Exchange[],
  { streams, received }: Pick<ClientRecords, 'streams' | 'received'>,
): Observation[] => [
  ...exchanges.flatMap((exchange) => {
    const places = placesToldBy(logged, exchange);
    const by = `${exchange.gateway} to ${exchange.kind}`;
    return places ? [{ by, sentAt: exchange.sentAt, seenAt: exchange.seenAt, ...places }] : [];
  }),
  // A stream begun before may tell old facts at any time: what it tells is known, and goes back on nothing.
  ...streams.flatMap(({ facts: told }) =>
    told.map(({ at, fact }) => ({
      by: `a stream with ${fact.type}`,
      sentAt: -Infinity,
      seenAt: at,
      atLeast: fact.sequence,
      atMost: Infinity,
    })),
  ),
  ...received.map(({ at, payload }) => ({
    by: `a notification that it is ${payload.status}`,
    sentAt: -Infinity,
    seenAt: at,
    atLeast: payload.sequence,
    atMost: Infinity,
  })),
];

const placesToldBy = (
  logged: LoggedRun,
  { answer }: Exchange,
): { readonly atLeast: number; readonly atMost: number } | undefined => {
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
          ? logged.facts.at(-1)?.sequence
          : logged.facts.find(({ event }) => event.type === 'RunCancelRequested')?.sequence,
      );
    case 'cancelled_many':
    case 'refused':
    case 'lost':
      return undefined;
  }
};
