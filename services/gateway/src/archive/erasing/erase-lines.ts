import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { NO_OUTPUTS } from '@runledger/contracts/fold/run';
import type { ArchivedErasure, SegmentRecord } from '../store/archive-records.ts';
import {
  isTombstone,
  messageOfLine,
  runIdOf,
  tombstoneOf,
  withoutContent,
  type SegmentLine,
} from '../segment/segment-line.ts';

/** What to erase of the runs of one organisation, by run. A deleted run had all that its deleted outputs had. */
export type ErasedRuns = ReadonlyMap<string, readonly ArchivedErasure[]>;

export const byRun = (erasures: readonly ArchivedErasure[]): ErasedRuns =>
  Map.groupBy(erasures, ({ run_id }) => run_id);

/** What to erase in a segment. In that of another log everything is, since positions mean nothing there. */
export const erasuresFor = ({ log }: Pick<SegmentRecord, 'log'>, erased: ErasedRuns): ErasedRuns =>
  new Map(
    [...erased].map(([run_id, erasures]) => [
      run_id,
      erasures.map((one) => (one.log === log ? one : { ...one, sequence: Infinity })),
    ]),
  );

/** The line as the archive may keep it: the same one when nothing of it is erased. */
export const withoutErased = (line: SegmentLine, erased: ErasedRuns): SegmentLine => {
  const before = erased.get(runIdOf(line))?.filter(({ sequence }) => line.sequence < sequence) ?? [];
  if (before.length === 0 || isTombstone(line)) return line;
  return before.some(({ what }) => what === 'run') ? tombstoneOf(line) : withoutOutputs(line);
};

const withoutOutputs = (line: SegmentLine): SegmentLine => {
  const parsed = parseRunEvent(messageOfLine(line)?.body);
  if (parsed.kind !== 'event' || !('outputs' in parsed.event.data)) return line;
  const { event } = parsed;
  const { outputs, outputs_blob } = parsed.event.data;
  if (!outputs?.length && outputs_blob === null) return line;
  return withoutContent(line, { ...event, data: { ...event.data, ...NO_OUTPUTS } });
};
