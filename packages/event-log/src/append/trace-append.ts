import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';

/** Sent with the message; undefined in a process without tracing. */
type Traceparent = string | undefined;

/**
 * Makes a span of an append, as a child of the active span, else of the event's own trace context. A reader of the message
 * continues the trace in its header; the event is stored as it was decided.
 */
export const traceAppend = async <Stored extends { readonly kind: string }>(
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
