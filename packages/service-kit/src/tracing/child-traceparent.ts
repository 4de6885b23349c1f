import { randomUUID } from 'node:crypto';
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

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
