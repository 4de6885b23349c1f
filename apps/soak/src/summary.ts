import { isEnded } from '@runledger/contracts/fold/run';
import { brokerFaultName, quotaRefusals, withoutEffect } from './broken-promises.ts';
import { refusalOf } from './clients/client-context.ts';
import type { Evidence } from './evidence/evidence.ts';
import type { ArchiveFault } from './faults/archive-faults.ts';
import { lastOf, type LoggedRun } from './evidence/logged-run.ts';

/** What the soak did, and what came of it: a soak that exercised nothing is seen. */
export const summary = (
  evidence: Evidence,
  { seconds, views }: { seconds: number; views: string },
): string => {
  const { runs, records, faults, limits, brokerFaults, trespasses } = evidence;
  const logged = [...runs.values()];
  const refused = records.exchanges.flatMap(({ answer, kind }) =>
    answer.kind === 'refused' && kind !== 'foreign' ? [refusalOf(answer)] : [],
  );
  const deleted = logged
    .flatMap(({ facts }) => facts.map(({ event }) => event.type))
    .filter((type) => type === 'RunDeleted' || type === 'RunOutputsDeleted');
  const deliveries = logged.filter(
    ({ webhook }) => webhook?.status === 'failed' && webhook.reason === 'log_expired',
  );
  const lost = limits.reduce((sum, change) => sum + change.lost, 0);
  return [
    `${runs.size} runs in ${seconds.toFixed(0)} s, views in ${views}. Ends: ${counts(logged.map(endOf))}.`,
    `Requests: ${counts(records.exchanges.map(({ answer }) => answer.kind))}. Refused: ${counts(refused)}.`,
    `Notifications: ${records.received.length}. Streams: ${records.streams.length}. Programs started: ${evidence.programStarts.length}.`,
    `Faults: ${counts(faults.outages.map(({ kind }) => kind))}; on ${counts(faults.outages.map(({ role }) => role))}.`,
    `Of the brokers: ${counts(brokerFaults.map(brokerFaultName))}. Limits: ${counts(limits.map(({ store, kind }) => `${store} ${kind}`))}.`,
    `Of the archive: ${archiveOf(evidence)}.`,
    `Without effect: ${counts(withoutEffect(evidence))}.`,
    `Deleted: ${counts(deleted)}. Forbidden at the broker: ${trespasses.length} tries.`,
    `The glutton was refused for its quota of ${[...quotaRefusals(evidence)].map(([resource, count]) => `${resource} ${count}`).join(', ')}.`,
    `The log forgot ${lost} messages; ${deliveries.length} deliveries ended as log_expired.`,
  ].join('\n');
};

/** Whose objects failed, how often that was seen, and what went on meanwhile. */
const archiveOf = ({ archive: { faults, named }, records }: Evidence): string => {
  const sum = (of: (fault: ArchiveFault) => number): number => faults.reduce((all, one) => all + of(one), 0);
  const behind = new Set(named.flatMap(({ org_ids }) => org_ids)).size;
  const gaps = records.exchanges.filter(({ answer }) => answer.kind === 'history' && answer.hasGap).length;
  return `${counts(faults.map(({ kind }) => kind))}; wrong answers ${sum(({ wrong }) => wrong)}, organisations named ${behind}, histories with a gap ${gaps}; others archived meanwhile ${sum(({ others }) => others)}`;
};

const endOf = (logged: LoggedRun): string => {
  const run = lastOf(logged);
  return run && isEnded(run) ? `${run.status} (${run.end_reason})` : (run?.status ?? 'none');
};

/** How often each name occurs, in words. */
const counts = (names: readonly string[]): string =>
  [...Map.groupBy(names, (name) => name)]
    .map(([name, all]) => `${name} ${all.length}`)
    .toSorted()
    .join(', ') || 'none';
