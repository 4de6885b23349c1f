import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunId } from '@runledger/contracts/ids';
import { hidingOf } from '@runledger/contracts/slices/content-rules';
import {
  SLICE_VERSION,
  type SlicedStream,
  type SliceGap,
  type SliceHeader,
  type SliceLine,
} from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '../connect/event-log.ts';
import { streamState } from '../messages/leader-state.ts';
import { createdOf } from '../messages/stream-identity.ts';
import { mergedByTime, type StreamPages } from './merge-by-time.ts';
import { factLine, gapsBefore } from './slice-lines.ts';
import {
  besideFleet,
  passOver,
  readMessagesOfRuns,
  type MessagesOfRuns,
  type SliceSpan,
} from './slice-sources.ts';
import { wantedFacts } from './wanted-facts.ts';

export interface SliceRequest extends Pick<SliceHeader, 'organisations' | 'deployments' | 'content'> {
  /** Of all runs when it is empty. */
  readonly runs: readonly RunId[];
  /** Null only with runs: from the first fact of these to their last one, or until now when one of them has not ended. */
  readonly span: SliceSpan | null;
  /** Now, for a run that has not ended. */
  readonly now: string;
  /** For what stands in the place of content: equal texts of a slice get the same 32 hexadecimal digits. */
  readonly pseudonym: (text: string) => string;
  /** Called after each page of messages, before the next one is requested. */
  readonly pace: (messages: number) => Promise<void>;
}

/**
 * The lines of a slice: facts of executors, facts of runs and outcomes of delivery attempts by time, each stream in the order of its
 * positions. It reads the log once, from the first time to the last, and keeps a page of each stream; of chosen runs it reads only what is
 * under their subjects. @throws {SliceRefused} @throws {LogUnavailable} @throws {NewerVersion}
 */
export async function* takeSlice(log: EventLog, request: SliceRequest): AsyncGenerator<readonly SliceLine[]> {
  const { organisations, deployments, runs, content, pace } = request;
  const ofRuns = runs.length > 0 ? await readMessagesOfRuns(log, { runs, organisations }, pace) : undefined;
  const extents = await extentsOf(log);
  const span = request.span ?? spanOf(ofRuns, request);
  const only = { organisations, deployments, runs: [...runs] };
  yield [{ kind: 'header', version: SLICE_VERSION, ...span, ...only, content, streams: extents }];
  if (ofRuns) yield gapBefore(ofRuns, extents.RUNS.first_sequence);
  const options = { span, extents, pace };
  const sources = ofRuns ? besideFleet(log, ofRuns, options) : passOver(log, options);
  yield* linesOf(sources, request, { extents, areWhole: ofRuns === undefined });
}

async function* linesOf(
  sources: readonly StreamPages[],
  request: SliceRequest,
  { extents, areWhole }: { readonly extents: SliceHeader['streams']; readonly areWhole: boolean },
): AsyncGenerator<readonly SliceLine[]> {
  const hiding = hidingOf(request.content, request.pseudonym);
  const isWanted = wantedFacts({ ...request, runs: [...request.runs] });
  const gapOf = (stream: SlicedStream) => gapsBefore(stream, extents[stream].first_sequence);
  const gaps = { RUNS: gapOf('RUNS'), FLEET: gapOf('FLEET'), DELIVERY_ATTEMPTS: gapOf('DELIVERY_ATTEMPTS') };
  let facts = 0;
  for await (const batch of mergedByTime(sources)) {
    const lines: SliceLine[] = [];
    for (const { stream, message } of batch) {
      // Between the facts of one run there are those of others.
      if (areWhole || stream === 'FLEET') lines.push(...gaps[stream](message.sequence));
      if (!isWanted(stream, message)) continue;
      lines.push(factLine(stream, message, hiding));
      facts += 1;
    }
    yield lines;
  }
  yield [{ kind: 'end', facts }];
}

const extentsOf = async (log: EventLog): Promise<SliceHeader['streams']> => {
  const extentOf = async (stream: SlicedStream): Promise<SliceHeader['streams']['RUNS']> => {
    const info = await streamState(log, stream);
    const { first_seq, last_seq } = info.state;
    return { created: createdOf(info), first_sequence: first_seq, last_sequence: last_seq };
  };
  const [RUNS, FLEET, DELIVERY_ATTEMPTS] = await Promise.all([
    extentOf('RUNS'),
    extentOf('FLEET'),
    extentOf('DELIVERY_ATTEMPTS'),
  ]);
  return { RUNS, FLEET, DELIVERY_ATTEMPTS };
};

const spanOf = (of: MessagesOfRuns | undefined, { runs, now }: SliceRequest): SliceSpan => {
  if (!of) throw new TypeError('a slice of all runs needs a time');
  const times = [...of.runs, ...of.attempts].map(({ time }) => time).toSorted();
  const [first, last] = [times[0] ?? now, times.at(-1) ?? now];
  const isEnd = ({ subject }: StoredMessage): boolean => parseLifecycleSubject(subject)?.fact === 'ended';
  const hasEnded = of.runs.filter(isEnd).length >= runs.length;
  const justAfter = new Date(Date.parse(last) + 1).toISOString();
  return { from: first, lead_in_from: first, to: hasEnded || justAfter > now ? justAfter : now };
};

/** Facts of these runs were there: the first one that is left follows them. */
const gapBefore = ({ runs }: MessagesOfRuns, firstOfStream: number): SliceGap[] => {
  const isOld = ({ subject, expectedSequence }: StoredMessage): boolean =>
    parseLifecycleSubject(subject) !== undefined &&
    expectedSequence !== null &&
    expectedSequence > 0 &&
    expectedSequence < firstOfStream;
  return runs.some(isOld)
    ? [{ kind: 'gap', stream: 'RUNS', first_sequence: 1, last_sequence: firstOfStream - 1 }]
    : [];
};
