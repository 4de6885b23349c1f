import { isEnded } from '@runledger/contracts/fold/run';
import type { Check, Violation } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee = 'A run that was answered with 200 is in the log and ends exactly once.';

export const acceptedRuns: Check = ({ records, runs, vanished }) => {
  const violations: Violation[] = [];
  for (const { answer, kind, gateway } of records.exchanges) {
    if (answer.kind !== 'queued' || runs.has(answer.run)) continue;
    const message = `${gateway} answered ${kind} with 200 and run ${answer.run}, which is not in the log.`;
    violations.push({ guarantee, run: answer.run, message });
  }
  for (const { subject, sequence } of vanished) {
    const message = `Message ${sequence}, ${subject}, was in the log. It is missing or different now.`;
    violations.push({ guarantee, run: subject.split('.')[2] ?? null, message });
  }
  for (const run of runs.values()) {
    const message = endsBadly(run);
    if (message !== undefined) violations.push({ guarantee, run: run.key.run_id, message });
  }
  return violations;
};

/** The fold accepts no second end, so a second end is among the defects. */
const endsBadly = (logged: LoggedRun): string | undefined => {
  if (logged.defects.length > 0) return `The history is damaged: ${logged.defects.join('; ')}.`;
  // What came before may have expired.
  if (logged.isDeleted) return undefined;
  const run = lastOf(logged);
  if (run === undefined) return 'The log has messages of it, but no run.';
  return isEnded(run) ? undefined : `It has not ended. It has been ${run.status} since ${run.updated_at}.`;
};
