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
  'Reads never go back. A GET never shows less than what was shown before, and is never 404 after a 200.';

export const readsNeverGoBack: Check = ({ records, runs, faults }) => {
  const violations: Violation[] = [];
  const streams = Map.groupBy(records.streams, ({ run }) => run);
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, exchanges] of Map.groupBy(records.exchanges.filter(isOwn), runOf)) {
    const logged = runs.get(run);
    // Another check is about runs that are not in the log.
    if (!logged) continue;
    const found = (message: string | undefined): void => {
      if (message !== undefined) violations.push({ guarantee, run, message });
    };
    found(notFound(logged, exchanges));
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

/** A gateway needs this time to connect to the broker again. */
const SETTLE_MS = 10_000;

/**
 * Without the log, a gateway shows the webhook status of an ended run from its view. That may be older than what another
 * gateway showed, but not older than what this gateway showed. So gateways are compared only while the broker is up.
 */
const comparable = (
  exchanges: readonly Exchange[],
  outages: readonly Outage[],
): readonly (readonly Exchange[])[] => [
  exchanges.filter(
    ({ sentAt: from, seenAt: to }) =>
      outageMsIn(outages, { roles: ['broker'], settleMs: SETTLE_MS, from, to }) === 0,
  ),
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
