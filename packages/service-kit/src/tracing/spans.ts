import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';

export type { Span } from '@opentelemetry/api';

export interface SpanOptions {
  readonly kind: 'server' | 'client' | 'consumer' | 'internal';
  /** A W3C traceparent; null begins a new trace. When left out, the active span is the parent. */
  readonly parent?: string | null;
  /** Few, short and without secrets: no inputs, no keys, no callback or output addresses. */
  readonly attributes: Attributes;
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** Does the work in a span. Spans that begin meanwhile are its children, and log lines name its trace. */
export const inSpan = async <Value>(
  name: string,
  { kind, parent, attributes }: SpanOptions,
  work: (span: Span) => Promise<Value>,
): Promise<Value> => {
  const above = parent === undefined ? context.active() : continuing(parent);
  // Got each time: a tracer that is kept belongs for ever to the provider that it found first.
  const span = trace.getTracer('runledger').startSpan(name, { kind: KINDS[kind], attributes }, above);
  try {
    return await context.with(trace.setSpan(above, span), work, undefined, span);
  } catch (error) {
    markFailed(span, error instanceof Error ? error.name : 'unknown');
    throw error;
  } finally {
    span.end();
  }
};

/** `why` is a kind of error and not its message, which may quote what must not be in a trace. */
export const markFailed = (span: Span, why: string): void => {
  span.setAttribute('error.type', why);
  span.setStatus({ code: SpanStatusCode.ERROR });
};

/** The traceparent of the active span; undefined when this process makes no traces. */
export const activeTraceparent = (): string | undefined => {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
};

const continuing = (traceparent: string | null): Context =>
  traceparent === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
