import { parseRunEvent } from '@runledger/contracts/events/run-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_OUTPUTS } from '@runledger/contracts/fold/run';
import { lifecycleFilter, parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
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

const ERASING = { deleted: 'run', outputs_deleted: 'outputs' } as const;

/** The erasure that a message of the log asks for; undefined for others, and for what no reader takes for a fact. */
export const erasureIn = (
  { subject, fence, sequence, body }: StoredMessage,
  log: string,
): ArchivedErasure | undefined => {
  const about = parseLifecycleSubject(subject);
  if (!about || (about.fact !== 'deleted' && about.fact !== 'outputs_deleted')) return undefined;
  if (fence !== lifecycleFilter(about) || parseRunEvent(body).kind !== 'event') return undefined;
  const { org_id, run_id } = about;
  return { org_id, run_id, what: ERASING[about.fact], log, sequence, swept_to: null };
};

/**
 * What is left to erase in a segment. In that of another log everything is, since positions mean nothing there. One that has the erasing
 * fact itself was written without what it erases.
 */
export const erasuresFor = (
  { log, first_sequence, last_sequence }: Pick<SegmentRecord, 'log' | 'first_sequence' | 'last_sequence'>,
  erased: ErasedRuns,
): ErasedRuns =>
  new Map(
    [...erased].flatMap(([run_id, erasures]) => {
      const left = erasures
        .filter((one) => one.log !== log || one.sequence < first_sequence || one.sequence > last_sequence)
        .map((one) => (one.log === log ? one : { ...one, sequence: Infinity }));
      return left.length === 0 ? [] : [[run_id, left] as const];
    }),
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
