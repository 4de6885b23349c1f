import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { OrgId } from '@runledger/contracts/ids';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import {
  SLICE_VERSION,
  type SlicedStream,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
  type SliceLine,
} from '@runledger/contracts/slices/slice';
import {
  fleetEventWithoutContent,
  runEventWithoutContent,
} from '@runledger/contracts/slices/without-content';
import { ALL_LIFECYCLES, runOfSubject } from '@runledger/contracts/subjects/run-subjects';
import { newerVersionOf } from '../follow/newer-version.ts';
import { matchesFilter } from '@runledger/contracts/subjects/matches-filter';
import { parseFleetEvent } from '../messages/fleet.ts';
import { streamState } from '../messages/leader-state.ts';
import { createdOf } from '../messages/stream-identity.ts';
import { readPages } from '../read/read-pages.ts';
import type { EventLog } from '../connect/event-log.ts';

/** Times are the broker's, ISO 8601 in UTC with milliseconds. */
export interface SliceRequest extends Pick<SliceHeader, 'from' | 'to' | 'lead_in_from'> {
  /** The runs of one organisation; of all when it is null. */
  readonly organisation: OrgId | null;
  /** For texts that clients chose: equal ones of a slice get the same. */
  readonly pseudonym: (text: string) => string;
  /** Called after each page of messages, before the next one is requested. */
  readonly pace: (messages: number) => Promise<void>;
}

/**
 * The lines of a slice: lifecycle facts of RUNS in the order of their positions, and facts of FLEET between them, by time. It reads the log
 * once, from the first time to the last, and keeps a page of each stream. @throws {LogUnavailable} @throws {NewerVersion}
 */
export async function* takeSlice(log: EventLog, request: SliceRequest): AsyncGenerator<readonly SliceLine[]> {
  const [runs, fleet] = await Promise.all([extentOf(log, 'RUNS'), extentOf(log, 'FLEET')]);
  const { from, to, lead_in_from, organisation, pace } = request;
  const about = { from, to, lead_in_from, organisation, content: 'left_out' } as const;
  yield [{ kind: 'header', version: SLICE_VERSION, ...about, streams: { RUNS: runs, FLEET: fleet } }];
  const runPages = readPages(log, 'RUNS', { since: lead_in_from, upTo: runs.last_sequence, pace });
  const fleetPages = readPages(log, 'FLEET', { upTo: fleet.last_sequence, pace });
  const linesOf = {
    RUNS: lineMaker('RUNS', runs, request),
    FLEET: lineMaker('FLEET', fleet, request),
  };
  let facts = 0;
  for await (const page of mergedByTime(within(runPages, to), within(fleetPages, to))) {
    const lines = page.flatMap(({ stream, message }) => linesOf[stream](message));
    facts += lines.filter(({ kind }) => kind === 'fact').length;
    yield lines;
  }
  yield [{ kind: 'end', facts }];
}

type Extent = SliceHeader['streams']['RUNS'];

const extentOf = async (log: EventLog, stream: SlicedStream): Promise<Extent> => {
  const info = await streamState(log, stream);
  const { first_seq, last_seq } = info.state;
  return { created: createdOf(info), first_sequence: first_seq, last_sequence: last_seq };
};

/** Up to the first page that is later altogether: another leading broker's clock may be a little behind. */
async function* within(
  pages: AsyncIterable<readonly StoredMessage[]>,
  to: string,
): AsyncGenerator<readonly StoredMessage[]> {
  for await (const page of pages) {
    const earlier = page.filter(({ time }) => time < to);
    if (earlier.length === 0) return;
    yield earlier;
  }
}

interface Sliced {
  readonly stream: SlicedStream;
  readonly message: StoredMessage;
}

/** Each stream in its own order. Facts of the fleet come before those of runs that were stored later. */
async function* mergedByTime(
  runs: AsyncIterable<readonly StoredMessage[]>,
  fleet: AsyncGenerator<readonly StoredMessage[]>,
): AsyncGenerator<readonly Sliced[]> {
  let waiting: readonly StoredMessage[] = [];
  const readFleet = async (): Promise<boolean> => {
    const { value, done } = await fleet.next();
    waiting = done ? [] : value;
    return !done;
  };
  await readFleet();
  for await (const page of runs) {
    const merged: Sliced[] = [];
    for (const message of page) {
      while (waiting.length > 0) {
        const later = waiting.findIndex(({ time }) => time > message.time);
        const taken = later === -1 ? waiting : waiting.slice(0, later);
        merged.push(...taken.map((other) => ({ stream: 'FLEET' as const, message: other })));
        waiting = waiting.slice(taken.length);
        if (waiting.length > 0 || !(await readFleet())) break;
      }
      merged.push({ stream: 'RUNS', message });
    }
    yield merged;
  }
  do yield waiting.map((message) => ({ stream: 'FLEET', message }));
  while (await readFleet());
}

/** A fact, and before it the gap to the one before. */
const lineMaker = (
  stream: SlicedStream,
  { first_sequence }: Extent,
  request: SliceRequest,
): ((message: StoredMessage) => (SliceFact | SliceGap)[]) => {
  let before: number | undefined;
  return (message) => {
    const { sequence } = message;
    // Before the first one of the stream there were others, which may have been of that time.
    const due = before ?? (sequence === first_sequence ? 0 : sequence - 1);
    before = sequence;
    const gap: SliceGap[] =
      due + 1 < sequence
        ? [{ kind: 'gap', stream, first_sequence: due + 1, last_sequence: sequence - 1 }]
        : [];
    return isWanted(stream, message, request) ? [...gap, factOf(stream, message, request)] : gap;
  };
};

const isWanted = (
  stream: SlicedStream,
  { subject }: StoredMessage,
  { organisation }: SliceRequest,
): boolean =>
  stream === 'FLEET' ||
  (matchesFilter(ALL_LIFECYCLES, subject) &&
    (organisation === null || runOfSubject(subject)?.org_id === organisation));

const factOf = (stream: SlicedStream, message: StoredMessage, { pseudonym }: SliceRequest): SliceFact => {
  const newer = newerVersionOf(stream, message);
  if (newer) throw newer;
  const { sequence, time, subject, fence, expectedSequence, body } = message;
  const event = stream === 'FLEET' ? fleetEventOf(body) : runEventOf(body, pseudonym);
  return { kind: 'fact', stream, sequence, time, subject, fence, expected_sequence: expectedSequence, event };
};

const fleetEventOf = (body: unknown): object | null => {
  const parsed = parseFleetEvent(body);
  return parsed.kind === 'event' ? fleetEventWithoutContent(parsed.event) : null;
};

const runEventOf = (body: unknown, pseudonym: SliceRequest['pseudonym']): object | null => {
  const parsed = parseRunEvent(body);
  return parsed.kind === 'event' ? runEventWithoutContent(parsed.event, pseudonym) : null;
};
