import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { isWebhookEvent, type WebhookEvent } from '@runledger/contracts/events/webhook-event';
import { eventIdOf } from '@runledger/contracts/fold/chain';
import { MAX_FACT_BYTES } from '@runledger/contracts/fold/log-capacity';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import { orgId, runId } from '@runledger/contracts/ids';
import type { EventLog } from '../connect/event-log.ts';
import { observeAppend } from '../connect/observability.ts';
import { lastOfSubjects } from '../read/direct-read.ts';
import { publishTogether, type FencedPublication } from './group-commit.ts';
import { previousHash, previousOwnHash, rememberMessage } from './previous-hash.ts';
import { EventTooLarge, publishUntilAcknowledged } from './publish.ts';

export { EventTooLarge, LogFull } from './publish.ts';

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
export const append = (log: EventLog, event: ChainEvent, expected: number): Promise<Appended> =>
  observed<Appended>(log, event, async (traceparent) => {
    const previous = follows(event, expected) ? previousHash(log, event, expected) : undefined;
    const linked = withPrevious(event, previous instanceof Promise ? await previous : previous);
    const message = messageOf(linked, expected, traceparent);
    const published = await publishTogether(log, message);
    switch (published.kind) {
      case 'stored':
        rememberMessage(log, { ...message, sequence: published.sequence });
        return { kind: 'appended', sequence: published.sequence };
      case 'conflict':
        return published;
    }
  });

type AppendedBlind =
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
  { observer }: EventLog,
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

/** Sent with the message; undefined in a process without tracing. */
type Traceparent = string | undefined;

/**
 * Makes a span of an append, as a child of the active span, else of the event's own trace context. A reader of the message
 * continues the trace in its header; the event is stored as it was decided.
 */
const traceAppend = async <Stored extends { readonly kind: string }>(
  event: RunEvent | WebhookEvent,
  store: (traceparent: Traceparent) => Promise<Stored>,
): Promise<Stored> => {
  const active = context.active();
  const above = trace.getSpan(active)
    ? active
    : propagation.extract(ROOT_CONTEXT, { traceparent: event.traceparent ?? undefined });
  const span = trace
    .getTracer('@runledger/event-log')
    .startSpan(`append ${event.type}`, { kind: SpanKind.PRODUCER, attributes: about(event) }, above);
  const carrier: { traceparent?: string } = {};
  propagation.inject(trace.setSpan(above, span), carrier);
  try {
    const appended = await store(carrier.traceparent);
    span.setAttribute('runledger.appended', appended.kind);
    return appended;
  } catch (error) {
    // Its message may quote a secret.
    span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
};

const about = (event: RunEvent | WebhookEvent): Record<string, string | number> => ({
  'messaging.system': 'nats',
  'messaging.operation.name': 'append',
  'messaging.operation.type': 'send',
  'messaging.destination.name': 'RUNS',
  'messaging.message.id': event.event_id,
  'runledger.org_id': event.org_id,
  'runledger.run_id': event.run_id,
  ...('attempt' in event ? { 'runledger.attempt': event.attempt } : {}),
  ...('executor_id' in event && event.executor_id !== null
    ? { 'runledger.executor_id': event.executor_id }
    : {}),
});
