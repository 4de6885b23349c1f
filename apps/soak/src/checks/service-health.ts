import { outageMsIn, type Outage, type Stopped } from '../cluster/outages.ts';
import type { Check, Evidence, Violation } from '../evidence/evidence.ts';

/** What must hold for every service during faults of the others. */
export const serviceHealth: Check = (evidence) => [
  ...deadLetters(evidence),
  ...unexpectedEnds(evidence),
  ...unrecovered(evidence),
  ...uncleanStops(evidence),
];

const deadLetters = (evidence: Evidence): Violation[] =>
  evidence.deadLetters.map(({ subject, consumer, reason }) => ({
    guarantee: 'There are no dead letters.',
    run: subject.split('.')[2] ?? null,
    message: `${consumer} could not handle a message of ${subject}: ${reason}`,
  }));

const unexpectedEnds = ({ faults }: Evidence): Violation[] =>
  faults.unexpectedEnds.map(({ part, at, how }) => ({
    guarantee: 'No process ends by itself.',
    run: null,
    at,
    message: `${part} ${how} by itself at ${new Date(at).toISOString()}.`,
  }));

const unrecovered = ({ faults }: Evidence): Violation[] =>
  faults.outages.flatMap(({ part, kind, from, failure }) => {
    if (failure === undefined) return [];
    const message = `${part} did not recover from ${kind} at ${new Date(from).toISOString()}: ${failure}`;
    return [{ guarantee: 'A part recovers from every fault.', run: null, at: from, message }];
  });

const uncleanStops = ({ faults }: Evidence): Violation[] =>
  faults.stops
    .filter((stop) => !isClean(stop, faults.outages))
    .map(({ part, at, how, tookMs }) => ({
      guarantee: 'A stop by SIGTERM is clean.',
      run: null,
      at,
      message: `${part} was stopped at ${new Date(at).toISOString()} and ${how} after ${tookMs.toFixed(0)} ms.`,
    }));

/** After an outage of the broker, a service connects again and repeats its requests. */
const SETTLE_MS = 10_000;

/** If the broker does not answer, a service may give up its last writes, and reports that by its exit status. */
const isClean = ({ role, at, endKind, tookMs }: Stopped, outages: readonly Outage[]): boolean => {
  if (endKind === 'clean' || role === 'broker' || role === 'database') return true;
  const span = { from: at, to: at + tookMs };
  return (
    endKind === 'gave up' && outageMsIn(outages, { roles: ['broker'], settleMs: SETTLE_MS, ...span }) > 0
  );
};
