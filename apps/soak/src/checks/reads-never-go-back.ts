import type { Check, Finding } from '../evidence/evidence.ts';
import { type LoggedRun, factsUntilEnd } from '../evidence/logged-run.ts';
import { wasUnknown } from './archive.ts';
import type { Exchange, ClientRecords, RunResponse } from '../clients/client-records.ts';
import { wasBrokerAway, type Outage } from '../cluster/outages.ts';

export const readsNeverGoBack: Check = ({ records, runs, faults, archive }) => {
  const violations: Finding[] = [];
  const streams = Map.groupBy(records.streams, ({ run }) => run);
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, exchanges] of Map.groupBy(records.exchanges.filter(isOwn), runOf)) {
    const logged = runs.get(run);
    // Another check is about runs that are not in the log.
    if (!logged) continue;
    const found = (message: string | undefined): void => {
      if (message !== undefined) violations.push({ run, message });
    };
    const known = exchanges.filter((one) => !wasUnknown(one, archive.faults, faults.outages));
    found(notFound(logged, known));
    found(neverHappened(logged, exchanges));
    const pushed = { streams: streams.get(run) ?? [], received: received.get(run) ?? [] };
    found(describe(findRegression(observationsOf(logged, exchanges, pushed)), 'its lifecycle'));
    const regressions = comparable(exchanges, faults.outages).map((group) =>
      findRegression(webhookObservations(logged, group)),
    );
    found(describe(regressions.find(Boolean), 'its webhook_status'));
  }
  return violations;
};

/** Another organisation has no such run. */
const isOwn = ({ kind }: Exchange): boolean => kind !== 'foreign';

const runOf = ({ run, answer }: Exchange): string => (answer.kind === 'queued' ? answer.run : (run ?? ''));

/** A client knows the id of a run only from an answer of 200. */
const notFound = (logged: LoggedRun, exchanges: readonly Exchange[]): string | undefined => {
  const deletedAt = logged.isDeleted ? Date.parse(logged.facts.at(-1)?.time ?? '') : Infinity;
  const lost = exchanges.find(
    ({ answer, seenAt }) => answer.kind === 'refused' && answer.status === 404 && seenAt < deletedAt,
  );
  return lost && `${lost.gateway} answered ${lost.kind} with 404.`;
};

const neverHappened = (logged: LoggedRun, exchanges: readonly Exchange[]): string | undefined => {
  for (const { answer, gateway } of exchanges)
    if (answer.kind === 'shown' && positionsOf(logged, answer.shown) === undefined)
      return `${gateway} showed a state that the run never had: ${JSON.stringify(answer.shown)}.`;
  return undefined;
};

/**
 * Without the log, a gateway shows the webhook status of an ended run from its view. That may be older than what another
 * gateway showed, but not older than what this gateway showed. So gateways are compared only while the broker is up.
 */
const comparable = (
  exchanges: readonly Exchange[],
  outages: readonly Outage[],
): readonly (readonly Exchange[])[] => [
  exchanges.filter(({ sentAt: from, seenAt: to }) => !wasBrokerAway(outages, { from, to })),
  ...Map.groupBy(exchanges, ({ gateway }) => gateway).values(),
];

const webhookObservations = ({ webhookFacts }: LoggedRun, exchanges: readonly Exchange[]): Observation[] =>
  exchanges.flatMap(({ answer, gateway, sentAt, seenAt }) => {
    if (answer.kind !== 'shown' || answer.shown.webhook_status === null) return [];
    const status = answer.shown.webhook_status;
    const end = webhookFacts.at(-1);
    // The first fact of a round may be its end. The soak redelivers nothing.
    const begins = webhookFacts[0]?.sequence ?? Infinity;
    const ends = end && end.event.type !== 'WebhookStarted' ? end.sequence : Infinity;
    const by = `${gateway} with webhook_status ${status}`;
    if (status === 'not-started') return [{ by, sentAt, seenAt, atLeast: 0, atMost: begins - 1 }];
    if (status === 'running') return [{ by, sentAt, seenAt, atLeast: begins, atMost: ends - 1 }];
    return [{ by, sentAt, seenAt, atLeast: ends, atMost: Infinity }];
  });

const describe = (regression: Regression | undefined, what: string): string | undefined =>
  regression &&
  `${regression.later.by} showed less of ${what} (up to ${regression.later.atMost}) than was known before the request: ` +
    `${regression.known.by} had shown ${regression.known.atLeast}.`;

/** The positions in the log that fit an observation. */
interface PositionRange {
  readonly atLeast: number;
  readonly atMost: number;
}

/** What a client or receiver saw of a run. */
interface Observation extends PositionRange {
  /** Who showed it, and what. */
  readonly by: string;
  readonly sentAt: number;
  readonly seenAt: number;
}

/** A later request was answered with less than was known before it was sent. */
interface Regression {
  readonly known: Observation;
  readonly later: Observation;
}

/** Only answers that were seen before a request was sent bind the answer to that request. */
const findRegression = (observations: readonly Observation[]): Regression | undefined => {
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
const positionsOf = (
  { situations, facts, isDeleted }: LoggedRun,
  shown: RunResponse,
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
const observationsOf = (
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
    case 'history':
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
