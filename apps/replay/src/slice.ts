import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { TERMS } from '@runledger/contracts/events/leader-terms';

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
    if (isTerm && line.time >= header.warm_up_from && (last?.time ?? '') < header.warm_up_from)
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

/** How far facts are foreseen, in the time of the slice, and how many of them at most: a busy log has some thousand a second. */
const AHEAD_MS = 10_000;
const MOST_AHEAD = 50_000;

/** The facts of a slice in their order; each is passed to `foresee` while those up to some seconds before it are still to come. */
export async function* foreseen(
  lines: AsyncIterable<SliceHeader | SliceFact | SliceGap>,
  foresee: (fact: SliceFact) => void,
): AsyncGenerator<SliceFact> {
  let waiting: { readonly fact: SliceFact; readonly ms: number }[] = [];
  let taken = 0;
  for await (const line of lines) {
    if (line.kind !== 'fact') continue;
    const ms = Date.parse(line.time);
    foresee(line);
    waiting.push({ fact: line, ms });
    for (let first = waiting[taken]; first; first = waiting[taken]) {
      if (first.ms > ms - AHEAD_MS && waiting.length - taken <= MOST_AHEAD) break;
      taken += 1;
      yield first.fact;
    }
    if (taken > MOST_AHEAD) [waiting, taken] = [waiting.slice(taken), 0];
  }
  for (const { fact } of waiting.slice(taken)) yield fact;
}

/** A later release wrote a fact of the slice: no decision without it can be compared. */
export class NewerFact extends Error {
  override readonly name = 'NewerFact';

  constructor({
    type,
    version,
    sequence,
  }: {
    readonly type: string;
    readonly version: number;
    readonly sequence: number;
  }) {
    super(
      `A later release wrote ${type} in version ${version}, at position ${sequence}. Use that release of this command.`,
    );
  }
}
