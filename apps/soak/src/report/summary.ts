import type { Evidence } from '../evidence/evidence.ts';
import { lastOf } from '../evidence/logged-run.ts';

export interface Counted {
  readonly seconds: number;
  readonly views: string;
  /** Resident memory of each process at the end, in bytes. */
  readonly memory: readonly { readonly part: string; readonly bytes: number }[];
}

/** What was done and what became of it, for people. */
export const summary = (evidence: Evidence, { seconds, views, memory }: Counted): string => {
  const { runs, records, faults: troubles, diary } = evidence;
  const ends = [...runs.values()].map((logged) => {
    const run = lastOf(logged);
    return run === undefined
      ? 'none'
      : 'end_reason' in run
        ? `${run.status} (${run.end_reason})`
        : run.status;
  });
  const answers = records.exchanges.map(({ answer }) => answer.kind);
  const accepted = records.received.filter(({ answered }) => answered === 200).length;
  const connections = records.streams.reduce((sum, stream) => sum + stream.connections.length, 0);
  return [
    `${runs.size} runs in ${seconds.toFixed(0)} s, views in ${views}.`,
    `Ends: ${counts(ends)}.`,
    `Programs begun: ${diary.length}. Requests: ${counts(answers)}.`,
    `Notifications: ${records.received.length} arrived, ${accepted} accepted. Streams: ${records.streams.length} over ${connections} connections.`,
    `Blows: ${counts(troubles.outages.map(({ kind }) => kind))}; on ${counts(troubles.outages.map(({ role }) => role))}.`,
    `Longest time without a fact: ${(longestSilence(evidence) / 1_000).toFixed(1)} s.`,
    `Memory at the end: ${memory.map(({ part, bytes }) => `${part} ${Math.round(bytes / 1024 ** 2)} MiB`).join(', ')}.`,
  ].join('\n');
};

const counts = (names: readonly string[]): string =>
  [...Map.groupBy(names, (name) => name)]
    .map(([name, all]) => `${name} ${all.length}`)
    .toSorted()
    .join(', ');

const longestSilence = ({ runs }: Evidence): number => {
  const times = [...runs.values()]
    .flatMap(({ facts }) => facts.map(({ time }) => Date.parse(time)))
    .sort((a, b) => a - b);
  return times.reduce((longest, time, at) => Math.max(longest, time - (times[at - 1] ?? time)), 0);
};
