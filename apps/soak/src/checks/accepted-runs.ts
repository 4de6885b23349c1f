import { isEnded } from '@runledger/contracts/fold/run';
import type { Check, Violation } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';

const guarantee = 'A run that was answered with 200 is in the log, and ends exactly once.';

export const acceptedRuns: Check = ({ records, runs, vanished }) => {
  const violations: Violation[] = [];
  for (const { answer, kind: asked, gateway } of records.exchanges) {
    if (answer.kind !== 'queued' || runs.has(answer.run)) continue;
    const says = `${gateway} answered ${asked} with 200 and run ${answer.run}, which is not in the log.`;
    violations.push({ guarantee, run: answer.run, says });
  }
  for (const { subject, sequence } of vanished) {
    const says = `Message ${sequence}, ${subject}, was in the log, and is not there any more as it was.`;
    violations.push({ guarantee, run: subject.split('.')[2] ?? null, says });
  }
  for (const run of runs.values()) {
    const says = endsBadly(run);
    if (says !== undefined) violations.push({ guarantee, run: run.key.run_id, says });
  }
  return violations;
};

/** The fold takes no second end, so one stands among what is wrong. */
const endsBadly = (logged: LoggedRun): string | undefined => {
  if (logged.wrong.length > 0) return `The log is not whole: ${logged.wrong.join('; ')}.`;
  const run = lastOf(logged);
  if (run === undefined) return 'The log holds facts of it, and no run.';
  return isEnded(run) ? undefined : `It has not ended: it is ${run.status} since ${run.updated_at}.`;
};
