import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { DeliveryAttempt, DeliveryState } from '@runledger/contracts/deliveries/delivery-attempts';
import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { parseWebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunId } from '@runledger/contracts/ids';
import {
  redactedDeliveryAttempt,
  redactedDeliveryState,
  redactedFleetEvent,
  redactedRunEvent,
  redactedWebhookEvent,
} from '@runledger/contracts/slices/redacted-events';
import { redactionOf, type Redaction } from '@runledger/contracts/slices/redaction-rules';
import {
  SLICE_VERSION,
  type SlicedStream,
  type SliceFact,
  type SliceGap,
  type SliceHeader,
  type SliceLine,
} from '@runledger/contracts/slices/slice';
import type { EventLog } from '../connect/event-log.ts';
import { streamState } from '../read/leader-read.ts';
import { newerVersionOf } from '../read/newer-version.ts';
import { createdOf } from '../read/stream-identity.ts';
import {
  besideFleet,
  mergedByTime,
  passOver,
  readMessagesOfRuns,
  type MessagesOfRuns,
  type SliceSpan,
  type StreamPages,
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
export async function* captureSlice(
  log: EventLog,
  request: SliceRequest,
): AsyncGenerator<readonly SliceLine[]> {
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
  const redaction = redactionOf(request.content, request.pseudonym);
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
      lines.push(factLine(stream, message, redaction));
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
  return { from: first, warm_up_from: first, to: hasEnded || justAfter > now ? justAfter : now };
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

const AttemptCheck = compiledSchema(DeliveryAttempt);
const StateCheck = compiledSchema(DeliveryState);

/**
 * A message as a line, without what the slice does not keep. What an executor wrote in a later version has its type and version: whoever
 * plays the slice knows whether it is a fact. @throws {NewerVersion}
 */
const factLine = (stream: SlicedStream, message: StoredMessage, redaction: Redaction): SliceFact => {
  const newer = newerVersionOf(stream, message);
  if (newer) throw newer;
  const { sequence, time, subject, fence, expectedSequence, body } = message;
  const event = EVENT_OF[stream](body, redaction);
  return { kind: 'fact', stream, sequence, time, subject, fence, expected_sequence: expectedSequence, event };
};

type EventOf = (body: unknown, redaction: Redaction) => object | null;

const runEventOf: EventOf = (body, redaction) => {
  const life = parseRunEvent(body);
  if (life.kind === 'event') return redactedRunEvent(life.event, redaction);
  const webhook = parseWebhookEvent(body);
  if (webhook.kind === 'event') return redactedWebhookEvent(webhook.event, redaction);
  return life.kind === 'newer_version' ? { type: life.type, version: life.version } : null;
};

const fleetEventOf: EventOf = (body, redaction) => {
  const parsed = parseFleetEvent(body);
  return parsed.kind === 'event' ? redactedFleetEvent(parsed.event, redaction) : null;
};

const deliveryOf: EventOf = (body, redaction) => {
  if (AttemptCheck.Check(body)) return redactedDeliveryAttempt(body, redaction);
  return StateCheck.Check(body) ? redactedDeliveryState(body, redaction) : null;
};

const EVENT_OF: Readonly<Record<SlicedStream, EventOf>> = {
  RUNS: runEventOf,
  FLEET: fleetEventOf,
  DELIVERY_ATTEMPTS: deliveryOf,
};

/** The gap before each message of a stream that is read from some position on, if there is one. */
const gapsBefore = (stream: SlicedStream, firstOfStream: number): ((sequence: number) => SliceGap[]) => {
  let before: number | undefined;
  return (sequence) => {
    // Before the first one of the stream there were others, which may have been of that time.
    const due = before ?? (sequence === firstOfStream ? 0 : sequence - 1);
    before = sequence;
    return due + 1 < sequence
      ? [{ kind: 'gap', stream, first_sequence: due + 1, last_sequence: sequence - 1 }]
      : [];
  };
};
