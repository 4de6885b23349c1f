import { unplannedIn, type Check, type Violation } from '../evidence/evidence.ts';

const guarantee = "Another tenant's run cannot even be addressed.";

/** 408 is from a gateway that was too slow to read the request, and 503 from one that cannot answer now. */
const MAY_BE: ReadonlySet<number> = new Set([404, 408, 503]);

/** A stranger gets 404 for every run and deployment, or no answer, and its lists are empty. */
export const tenancy: Check = (evidence) => {
  const { records, shownToStranger, runs, org_id } = evidence;
  const others = unplannedIn(evidence);
  const violations: Violation[] = [];
  for (const { kind, run, gateway, answer } of records.exchanges) {
    if (kind !== 'foreign' || answer.kind === 'lost') continue;
    if (answer.kind === 'refused' && MAY_BE.has(answer.status)) continue;
    const what = answer.kind === 'refused' ? `${answer.status}: ${answer.why}` : answer.kind;
    violations.push({ guarantee, run, message: `${gateway} answered a stranger with ${what}` });
  }
  for (const { gateway, listed, read } of shownToStranger) {
    for (const { run } of [...listed, ...read.filter(({ shown }) => shown !== null)])
      violations.push({ guarantee, run, message: `${gateway} shows it to a stranger.` });
  }
  for (const [run, { key }] of runs) {
    if (key.org_id !== org_id && !others.has(key.org_id))
      violations.push({ guarantee, run, message: `It belongs to the organisation ${key.org_id}.` });
  }
  return violations;
};
