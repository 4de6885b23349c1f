import type { Evidence } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import { counts } from './counts.ts';
import { exercised } from './exercised.ts';

export interface SummaryFigures {
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
