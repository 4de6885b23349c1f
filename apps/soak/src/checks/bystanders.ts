import type { Check, Violation } from '../evidence/evidence.ts';

/** What services have to bear, whatever is done to the others. */
export const bystanders: Check = ({ parked, troubles, records }) => {
  const violations: Violation[] = [];
  for (const { subject, consumer, reason } of parked) {
    const says = `${consumer} parked a message of ${subject}: ${reason}`;
    violations.push({ guarantee: 'Nothing is parked.', run: subject.split('.')[2] ?? null, says });
  }
  for (const { part, at, how } of troubles.surprises) {
    const says = `${part} ${how} by itself at ${new Date(at).toISOString()}.`;
    violations.push({ guarantee: 'No process ends by itself.', run: null, at, says });
  }
  for (const { part, role, at, how, clean, tookMs } of troubles.stops) {
    if (clean || role === 'broker' || role === 'database') continue;
    const says = `${part} was stopped at ${new Date(at).toISOString()} and ${how} after ${tookMs.toFixed(0)} ms.`;
    violations.push({ guarantee: 'A stop by SIGTERM is clean.', run: null, at, says });
  }
  for (const { answer, asked, gateway, run } of records.exchanges) {
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
