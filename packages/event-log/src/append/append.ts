import { eventIdOf } from '@runledger/contracts/fold/chain';
import { MAX_FACT_BYTES } from '@runledger/contracts/events/fact-bytes';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { isWebhookEvent, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import { orgId, runId } from '@runledger/contracts/ids';
import type { EventLog } from '../connect/event-log.ts';
import { observeAppend } from '../connect/log-observer.ts';
import type { FencedPublication } from '../group-commit/fenced-publication.ts';
import { publishTogether } from '../group-commit/group-commit.ts';
import { lastOfSubjects } from '../messages/direct-read.ts';
import { publishUntilAcknowledged } from '../messages/publish.ts';
import { EventTooLarge, LogFull } from '../messages/refusals.ts';
import type { RunLog } from '../messages/run-messages.ts';
import { previousHash, previousOwnHash, rememberMessage } from './previous-hash.ts';
import { traceAppend } from './trace-append.ts';

export { EventTooLarge, LogFull };

export type Appended =
  | { readonly kind: 'appended'; readonly sequence: number }
  /** Another message was stored first. Nothing was appended; `head` is the last sequence at the leader, 0 for none. */
  | { readonly kind: 'conflict'; readonly head: number };

/** A fact of the chain of a run, or of the chain of its notifications. */
export type ChainEvent = RunEvent | WebhookEvent;

const utf8 = new TextEncoder();

/**
 * Adds a fact to its chain if the chain's head is still `expected` (0 for an empty chain). All facts of runs and of their
 * notifications are written here. A fact is stored exactly once, even when acknowledgements are lost.
 * @throws {LogUnavailable} when the broker does not respond within 12 s. The event may or may not be stored: append it again,
 *   with the same event id, to find out.
 * @throws {LogFull} @throws {EventTooLarge}
 */
export const append = (log: RunLog, event: ChainEvent, expected: number): Promise<Appended> =>
  observed<Appended>(log, event, async (traceparent) => {
    const previous = follows(event, expected) ? previousHash(log, event, expected) : undefined;
    const linked = withPrevious(event, previous instanceof Promise ? await previous : previous);
    const message = messageOf(linked, expected, traceparent);
    const published = await ('messages' in log
      ? log.messages.publish(message)
      : publishTogether(log, message));
    switch (published.kind) {
      case 'stored':
        rememberMessage(log, { ...message, sequence: published.sequence });
        return { kind: 'appended', sequence: published.sequence };
      case 'conflict':
        return published;
    }
  });

export type AppendedBlind =
  | Extract<Appended, { kind: 'appended' }>
  /** Perhaps not stored. `head`: the last sequence of the run in the broker's response; undefined when it named none. */
  | { readonly kind: 'conflict'; readonly head: number | undefined };

/**
 * As `append`, for a writer that may read only its own facts, from any replica. A replica may be behind, so the conflict
 * may be with this event itself, whose acknowledgement was lost. The writer finds it among the facts that it follows.
 * @throws {LogUnavailable} @throws {LogFull} @throws {EventTooLarge}
 */
export const appendOwn = (log: EventLog, event: RunEvent, expected: number): Promise<AppendedBlind> =>
  observed<AppendedBlind>(log, event, async (traceparent) => {
    const previous = follows(event, expected) ? previousOwnHash(log, event, expected) : undefined;
    const linked = withPrevious(event, previous instanceof Promise ? await previous : previous);
    const message = messageOf(linked, expected, traceparent);
    const sent = await publishUntilAcknowledged(log, message);
    if (sent.kind === 'stored') {
      rememberMessage(log, { ...message, sequence: sent.sequence });
      return { kind: 'appended', sequence: sent.sequence };
    }
    const found = await lastOfSubjects(log, [message.subject]);
    const own = found.find((stored) => eventIdOf(stored) === event.event_id);
    if (own) return { kind: 'appended', sequence: own.sequence };
    return { kind: 'conflict', head: sent.kind === 'conflict' ? sent.head : sent.sequence };
  });

/** Whether it is a fact of a run that is not the first one. */
const follows = (event: ChainEvent, expected: number): boolean => !isWebhookEvent(event) && expected > 0;

/** A fact names the content of what it follows, so that nobody can change that later without a trace. */
const withPrevious = <Event extends ChainEvent>(event: Event, previous_sha256: string | undefined): Event =>
  previous_sha256 === undefined ? event : { ...event, previous_sha256 };

/** Counts the append, and traces it. */
const observed = <Stored extends Appended | AppendedBlind>(
  { observer }: RunLog,
  event: ChainEvent,
  work: (traceparent: string | undefined) => Promise<Stored>,
): Promise<Stored> => observeAppend(observer, () => traceAppend<Stored>(event, work));

const messageOf = (
  event: ChainEvent,
  expected: number,
  traceparent: string | undefined,
): FencedPublication => {
  const { subject, filter } = addressOf(event);
  const mayBeFirst =
    isWebhookEvent(event) || event.type === 'RunQueued' || RUN_CHAIN.needs(event) !== 'fact_before';
  if (!mayBeFirst && expected < 1) {
    throw new TypeError(
      `${event.type} of run ${event.run_id} cannot be appended at head 0: it is not the first event of a run. ` +
        'Read the run, and append at its head.',
    );
  }
  return {
    stream: 'RUNS',
    subject,
    data: factBytes(event),
    id: event.event_id,
    // Always exactly this filter: on replicated streams, writers with different overlapping filters could both win.
    fence: { filter, sequence: expected },
    ...(traceparent === undefined ? {} : { traceparent }),
  };
};

/** Room for the facts that end a run is reserved by their largest sizes, so none may be larger. */
const factBytes = (event: ChainEvent): Uint8Array => {
  const data = utf8.encode(JSON.stringify(event));
  const max = MAX_FACT_BYTES[event.type];
  if (data.byteLength <= max) return data;
  throw new EventTooLarge(
    `${event.type} of run ${event.run_id} has ${data.byteLength} bytes, and may have at most ${max}. ` +
      'Store large values as blobs, and refer to them in the event.',
  );
};

const addressOf = (event: ChainEvent): { readonly subject: string; readonly filter: string } => {
  const key = { org_id: orgId(event.org_id), run_id: runId(event.run_id) };
  return isWebhookEvent(event)
    ? { subject: WEBHOOK_CHAIN.subjectOf(event), filter: WEBHOOK_CHAIN.filterOf(key) }
    : { subject: RUN_CHAIN.subjectOf(event), filter: RUN_CHAIN.filterOf(key) };
};
