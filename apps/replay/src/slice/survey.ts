import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import { TERMS } from '@runledger/contracts/subjects/terms';

/** What must be known of a slice before it is played, because it shows only later. */
export interface Survey {
  readonly header: SliceHeader;
  /** When executors were declared lost, by their ids. Milliseconds since 1970, in their order. */
  readonly losses: ReadonlyMap<string, readonly number[]>;
  /** The last facts that schedulers stored before another one began to lead: between these and its term nobody decided. */
  readonly lastOfTerms: ReadonlySet<string>;
  /** When the first term after the beginning began, no scheduler had stored anything since the beginning. */
  readonly beginsWithoutLeader: boolean;
}

/** A fact by its place in the slice. */
export const placeOf = ({ stream, sequence }: Pick<SliceFact, 'stream' | 'sequence'>): string =>
  `${stream} ${sequence}`;

/** Reads the slice once. What it keeps grows with losses and terms, not with runs. @throws {InvalidSlice} */
export const surveySlice = async (
  lines: AsyncIterable<SliceHeader | SliceFact | SliceGap>,
): Promise<Survey> => {
  const losses = new Map<string, number[]>();
  const lastOfTerms = new Set<string>();
  let header: SliceHeader | undefined;
  let last: SliceFact | undefined;
  let beginsWithoutLeader = false;
  for await (const line of lines) {
    if (line.kind === 'header') header = line;
    if (line.kind !== 'fact' || !header) continue;
    const isTerm = line.subject === TERMS;
    if (isTerm && last) lastOfTerms.add(placeOf(last));
    if (isTerm && line.time >= header.lead_in_from && (last?.time ?? '') < header.lead_in_from)
      beginsWithoutLeader = true;
    if (isLoss(line.event)) {
      const { executor_id } = line.event;
      losses.set(executor_id, [...(losses.get(executor_id) ?? []), Date.parse(line.time)]);
    }
    if (isTerm || isOfScheduler(line)) last = line;
  }
  if (!header) throw new Error('The slice has no header.');
  return { header, losses, lastOfTerms, beginsWithoutLeader };
};

const isOfScheduler = ({ stream, subject, event }: SliceFact): boolean =>
  stream === 'RUNS' ? parseLifecycleSubject(subject)?.writer === 'scheduler' : isLoss(event);

const isLoss = (event: object | null): event is { readonly executor_id: string } =>
  event !== null &&
  'type' in event &&
  event.type === 'ExecutorLost' &&
  'executor_id' in event &&
  typeof event.executor_id === 'string';
