import type { Check, Violation } from '../evidence/evidence.ts';
import type { LoggedRun } from '../evidence/logged-run.ts';
import type { Exchange } from '../clients/client-records.ts';
import { outageMsIn, type Outage } from '../cluster/outages.ts';
import {
  positionsOf,
  observationsOf,
  findRegression,
  type Observation,
  type Regression,
} from './observations.ts';

const guarantee =
  'Reads never go back: a GET never shows less than what was shown before, and no 404 after a 200.';

export const readsNeverGoBack: Check = ({ records, runs, faults: troubles }) => {
  const violations: Violation[] = [];
  const streams = Map.groupBy(records.streams, ({ run }) => run);
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, exchanges] of Map.groupBy(records.exchanges, runOf)) {
    const logged = runs.get(run);
    // What is not in the log is another check's matter.
    if (!logged) continue;
    const found = (says: string | undefined): void => {
      if (says !== undefined) violations.push({ guarantee, run, says });
    };
    found(notFound(exchanges));
    found(neverWas(logged, exchanges));
    const told = { streams: streams.get(run) ?? [], received: received.get(run) ?? [] };
    found(describe(findRegression(observationsOf(logged, exchanges, told)), 'its lifecycle'));
    const back = comparable(exchanges, troubles.outages).map((alike) =>
      findRegression(webhookSights(logged, alike)),
    );
    found(describe(back.find(Boolean), 'its webhook_status'));
  }
  return violations;
};

const runOf = ({ run, answer }: Exchange): string => (answer.kind === 'queued' ? answer.run : (run ?? ''));

/** A client knows a run's id from a 200 alone. */
const notFound = (exchanges: readonly Exchange[]): string | undefined => {
  const lost = exchanges.find(({ answer }) => answer.kind === 'refused' && answer.status === 404);
  return lost && `${lost.gateway} answered ${lost.kind} with 404.`;
};

const neverWas = (logged: LoggedRun, exchanges: readonly Exchange[]): string | undefined => {
  for (const { answer, gateway } of exchanges)
    if (answer.kind === 'shown' && positionsOf(logged, answer.shown) === undefined)
      return `${gateway} showed it as it never was: ${JSON.stringify(answer.shown)}.`;
  return undefined;
};

/** A gateway takes the broker for away until it has had time to connect again. */
const SETTLE_MS = 10_000;

/**
 * While the log is away, a gateway shows what became of the notifications of an ended run as far as its view goes, and no
 * less than it has shown itself: so it is held against other gateways only while the broker was there.
 */
const comparable = (
  exchanges: readonly Exchange[],
  troubles: readonly Outage[],
): readonly (readonly Exchange[])[] => [
  exchanges.filter(
    ({ sentAt: from, seenAt: to }) => outageMsIn(troubles, ['broker'], SETTLE_MS, { from, to }) === 0,
  ),
  ...Map.groupBy(exchanges, ({ gateway }) => gateway).values(),
];

const webhookSights = ({ webhookFacts }: LoggedRun, exchanges: readonly Exchange[]): Observation[] =>
  exchanges.flatMap(({ answer, gateway, sentAt, seenAt }) => {
    if (answer.kind !== 'shown' || answer.shown.webhook_status === null) return [];
    const status = answer.shown.webhook_status;
    const end = webhookFacts.at(-1);
    // The first fact of a round may be its end; nothing is delivered again here.
    const begins = webhookFacts[0]?.sequence ?? Infinity;
    const ends = end && end.event.type !== 'WebhookStarted' ? end.sequence : Infinity;
    const by = `${gateway}, that its webhook_status is ${status}`;
    if (status === 'not-started') return [{ by, sentAt, seenAt, atLeast: 0, atMost: begins - 1 }];
    if (status === 'running') return [{ by, sentAt, seenAt, atLeast: begins, atMost: ends - 1 }];
    return [{ by, sentAt, seenAt, atLeast: ends, atMost: Infinity }];
  });

const describe = (back: Regression | undefined, what: string): string | undefined =>
  back &&
  `${back.later.by} told less of ${what} (up to ${back.later.atMost}) than was known before it was asked: ` +
    `${back.known.by} had told of ${back.known.atLeast}.`;
