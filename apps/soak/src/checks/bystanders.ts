import type { Check, Violation } from '../evidence/evidence.ts';
import { outageMsIn, type Stopped, type Outage } from '../cluster/outages.ts';

/** What services have to bear, whatever is done to the others. */
export const bystanders: Check = ({ deadLetters: parked, faults: troubles, records }) => {
  const violations: Violation[] = [];
  for (const { subject, consumer, reason } of parked) {
    const says = `${consumer} parked a message of ${subject}: ${reason}`;
    violations.push({ guarantee: 'Nothing is parked.', run: subject.split('.')[2] ?? null, says });
  }
  for (const { part, at, how } of troubles.unexpectedEnds) {
    const says = `${part} ${how} by itself at ${new Date(at).toISOString()}.`;
    violations.push({ guarantee: 'No process ends by itself.', run: null, at, says });
  }
  for (const stop of troubles.stops) {
    if (isSound(stop, troubles.outages)) continue;
    const { part, at, how, tookMs } = stop;
    const says = `${part} was stopped at ${new Date(at).toISOString()} and ${how} after ${tookMs.toFixed(0)} ms.`;
    violations.push({ guarantee: 'A stop by SIGTERM is clean.', run: null, at, says });
  }
  for (const { answer, kind: asked, gateway, run } of records.exchanges) {
    // 404 is the matter of reads.
    if (answer.kind !== 'refused' || answer.status === 503 || answer.status === 404) continue;
    const says = `${gateway} answered ${asked} with ${answer.status}: ${answer.why}`;
    violations.push({
      guarantee: 'A sound request is answered, or refused with 503 for a while.',
      run,
      says,
    });
  }
  return violations;
};

/** A service connects again, and asks once more what it had asked before. */
const SETTLE_MS = 10_000;

/** With a broker that does not answer a service may give up what it wanted to tell it, and says so with its exit status. */
const isSound = ({ role, at, endKind: manner, tookMs }: Stopped, troubles: readonly Outage[]): boolean => {
  if (manner === 'clean' || role === 'broker' || role === 'database') return true;
  const span = { from: at, to: at + tookMs };
  return manner === 'gave up' && outageMsIn(troubles, ['broker'], SETTLE_MS, span) > 0;
};
