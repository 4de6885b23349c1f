import { isEnded } from '@runledger/contracts/fold/run';
import type { Evidence } from './evidence/evidence.ts';
import { lastOf, type LoggedRun, inputFileRequestOf, runsOf } from './evidence/logged-run.ts';
import { judgedWaits } from './checks/fair-share.ts';
import { refusalOf } from './clients/client-context.ts';
import type { LimitKind } from './faults/limit-changes.ts';
import { brokerFaultName, quotaRefusals, withoutEffect } from './broken-promises.ts';

interface SummaryFigures {
  readonly seconds: number;
  readonly views: string;
  /** Resident memory of each process at the end, in bytes. */
  readonly memory: readonly { readonly part: string; readonly bytes: number }[];
}

/** What the soak did, and the results. */
export const summary = (evidence: Evidence, { seconds, views, memory }: SummaryFigures): string => {
  const { runs, records, faults, programStarts } = evidence;
  const ends = [...runs.values()].map(endOf);
  const answers = records.exchanges.map(({ answer }) => answer.kind);
  const accepted = records.received.filter(({ answer }) => answer === 200).length;
  const connections = records.streams.reduce((sum, stream) => sum + stream.connections.length, 0);
  return [
    `${runs.size} runs in ${seconds.toFixed(0)} s, views in ${views}.`,
    `Ends: ${counts(ends)}.`,
    `Programs started: ${programStarts.length}. Requests: ${counts(answers)}.`,
    `Notifications: ${records.received.length} arrived, ${accepted} accepted. Streams: ${records.streams.length} over ${connections} connections.`,
    `Faults: ${counts(faults.outages.map(({ kind }) => kind))}; on ${counts(faults.outages.map(({ role }) => role))}.`,
    ...exercised(evidence),
    `Longest time without a fact: ${(longestGapMs(evidence) / 1_000).toFixed(1)} s.`,
    `Memory at the end: ${memory.map(({ part, bytes }) => `${part} ${Math.round(bytes / 1024 ** 2)} MiB`).join(', ')}.`,
  ].join('\n');
};

const endOf = (logged: LoggedRun): string => {
  const run = lastOf(logged);
  if (run === undefined) return 'none';
  return 'end_reason' in run ? `${run.status} (${run.end_reason})` : run.status;
};

const longestGapMs = ({ runs }: Evidence): number => {
  const times = [...runs.values()]
    .flatMap(({ facts }) => facts.map(({ time }) => Date.parse(time)))
    .sort((a, b) => a - b);
  return times.reduce((longest, time, at) => Math.max(longest, time - (times[at - 1] ?? time)), 0);
};

/** What the soak did to the cluster, and what came of it: a soak that exercised nothing is seen. */
const exercised = (evidence: Evidence): string[] => {
  const { limits, records, runs, brokerFaults } = evidence;
  const refused = records.exchanges.flatMap(({ answer, kind }) =>
    answer.kind === 'refused' && kind !== 'foreign' ? [refusalOf(answer)] : [],
  );
  const messagesLost = limits.reduce((sum, { lost }) => sum + lost, 0);
  const deliveriesExpired = [...runs.values()].filter(
    ({ webhook }) => webhook?.status === 'failed' && webhook.reason === 'log_expired',
  ).length;
  const forbidden = new Set(
    evidence.trespasses.map(({ user, subject }) => `${user} ${subject.replace(/[0-9a-f-]{36}/g, '')}`),
  );
  return [
    `The glutton queued ${gluttonRuns(evidence)} runs, and was refused for its quota of ${[...quotaRefusals(evidence)].map(([resource, count]) => `${resource} ${count}`).join(', ')}.`,
    `Shared slots: ${sharedIn(evidence)}.`,
    `Deleted: ${deletedIn(evidence)}. Without effect: ${counts(withoutEffect(evidence))}.`,
    `Input files: ${counts(inputFilesIn(evidence))}. Logs: ${counts(logsIn(evidence))}.`,
    `Forbidden at the broker: ${evidence.trespasses.length} tries of ${forbidden.size} kinds, ${evidence.trespasses.filter(({ refused }) => refused).length} refused.`,
    ...(brokerFaults.length > 0 ? [`Of the brokers: ${counts(brokerFaults.map(brokerFaultName))}.`] : []),
    `Limits: ${counts(limits.map(({ store, kind }) => `${store} ${LIMIT_TEXT[kind]}`))}.`,
    `The log forgot ${messagesLost} messages; ${endedAs(evidence, 'log_expired')} runs and ${deliveriesExpired} deliveries ended as log_expired.`,
    `Refused: ${counts(refused)}. Runs that ended as storage_full: ${endedAs(evidence, 'storage_full')}.`,
  ];
};

const deletedIn = ({ runs, records, files }: Evidence): string => {
  const facts = [...runs.values()].flatMap((logged) => logged.facts.map(({ event }) => event.type));
  const erased = new Set(files.filter(({ status }) => status === 404).map(({ key }) => key));
  return counts([
    ...facts.filter((type) => type === 'RunDeleted' || type === 'RunOutputsDeleted'),
    ...records.catalogue.filter(({ state }) => state === 'deleted').map(() => 'record'),
    ...Array.from(erased, () => 'file'),
  ]);
};

/** Of runs that succeeded. */
const inputFilesIn = ({ runs }: Evidence): string[] =>
  [...runs.values()].flatMap((logged) =>
    inputFileRequestOf(logged) !== undefined && lastOf(logged)?.status === 'success' ? ['found'] : [],
  );

const logsIn = ({ logs, runs }: Evidence): string[] =>
  logs.flatMap(({ run }) => {
    const logged = runs.get(run);
    const last = logged && lastOf(logged);
    return last && !logged.isDeleted ? [last.log_blob === undefined ? 'not kept' : 'kept'] : [];
  });

const LIMIT_TEXT: Readonly<Record<LimitKind, string>> = {
  full: 'full',
  nearly_full: 'nearly full',
  forgetful: 'forgetful',
};

const gluttonRuns = ({ runs, glutton_id }: Evidence): number =>
  [...runs.values()].filter(({ key }) => key.org_id === glutton_id).length;

const sharedIn = (evidence: Evidence): string => {
  const { runs, sharing } = evidence;
  const greedy = sharing.greedy_ids.flatMap((org_id) => [...runsOf({ runs }, org_id).values()]);
  const started = greedy.filter(({ facts }) => facts.some(({ event }) => event.type === 'RunAssigned'));
  const waits = judgedWaits(evidence);
  const modest = waits.filter(({ org_id }) => org_id === sharing.modest_id);
  const longestMs = Math.max(0, ...modest.map(({ ms }) => ms));
  const judged = waits.filter(({ isJudged }) => isJudged).length;
  return `${started.length} of ${greedy.length} greedy runs started, and ${modest.length} modest ones after ${(longestMs / 1_000).toFixed(1)} s at most; of ${waits.length} waits without a slot ${judged} were judged`;
};

const endedAs = ({ runs }: Evidence, reason: string): number =>
  [...runs.values()].filter((logged) => {
    const run = lastOf(logged);
    return run && isEnded(run) && run.end_reason === reason;
  }).length;

/** How often each name occurs, in words. */
const counts = (names: readonly string[]): string =>
  [...Map.groupBy(names, (name) => name)]
    .map(([name, all]) => `${name} ${all.length}`)
    .toSorted()
    .join(', ') || 'none';
