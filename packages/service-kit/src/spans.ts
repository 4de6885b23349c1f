import { randomUUID } from 'node:crypto';
import {
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  defaultTextMapGetter,
  defaultTextMapSetter,
  TraceFlags,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

export type { Span } from '@opentelemetry/api';

interface SpanOptions {
  readonly kind: 'server' | 'client' | 'consumer' | 'internal';
  /** A W3C traceparent; null begins a new trace. By default the active span is the parent. */
  readonly parent?: string | null;
  /** Few and short, without secrets: no inputs, keys, callback URLs or output URLs. */
  readonly attributes: Attributes;
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

const NO_PROVIDER = new ProxyTracerProvider().getDelegate();
const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Whether tracing was started in this process. */
export const makesTraces = (): boolean => {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== NO_PROVIDER;
};

/** Does the work in a span. Spans that begin in it are its children, and its log lines have the trace id. */
export const inSpan = async <Value>(
  name: string,
  { kind, parent, attributes }: SpanOptions,
  work: (span: Span) => Promise<Value>,
): Promise<Value> => {
  if (!makesTraces()) return work(NO_SPAN);
  const above = parent === undefined ? context.active() : continuing(parent);
  // Not cached: a tracer stays with the provider that was registered when it was made.
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

/** `why` is the kind of the error and not its message, which may quote secrets. */
export const markFailed = (span: Span, why: string): void => {
  span.setAttribute('error.type', why);
  span.setStatus({ code: SpanStatusCode.ERROR });
};

/** The traceparent of the active span; undefined if this process makes no traces. */
export const activeTraceparent = (): string | undefined => {
  if (!makesTraces()) return undefined;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
};

const continuing = (traceparent: string | null): Context =>
  traceparent === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });

const propagator = new W3CTraceContextPropagator();
/** Later versions may add fields. A longer header is ignored. */
const MAX_LENGTH = 512;

/**
 * A W3C traceparent for the work of a request: the same trace and sampling with a new span id. A new, sampled trace if the header
 * is missing or invalid.
 */
export const childTraceparent = (header: string | undefined): string => {
  const parent = header === undefined ? undefined : read(header);
  const span = {
    traceId: parent?.traceId ?? randomHex(),
    spanId: randomHex().slice(16),
    // Only known flags: the library writes two digits for these only.
    traceFlags: parent === undefined ? TraceFlags.SAMPLED : parent.traceFlags & TraceFlags.SAMPLED,
  };
  const carrier: { traceparent?: string } = {};
  propagator.inject(trace.setSpanContext(ROOT_CONTEXT, span), carrier, defaultTextMapSetter);
  return carrier.traceparent ?? childTraceparent(header);
};

/** 32 digits. Unlike other random bytes, Node draws those of UUIDs for many at once: each system call takes longer than all the rest. */
const randomHex = (): string => randomUUID().replaceAll('-', '');

/** The library accepts spaces around the header, which the standard does not allow. */
const read = (traceparent: string): ReturnType<typeof trace.getSpanContext> =>
  traceparent.length > MAX_LENGTH || traceparent !== traceparent.trim()
    ? undefined
    : trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter));
