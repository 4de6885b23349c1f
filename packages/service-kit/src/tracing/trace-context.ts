/** W3C Trace Context, level 1: https://www.w3.org/TR/trace-context/#traceparent-header */

declare const brand: unique symbol;
/** 32 lower-case hexadecimal digits, not all zero. */
export type TraceId = string & { readonly [brand]: 'TraceId' };
/** 16 lower-case hexadecimal digits, not all zero. */
export type SpanId = string & { readonly [brand]: 'SpanId' };

export interface TraceContext {
  readonly traceId: TraceId;
  readonly spanId: SpanId;
  readonly sampled: boolean;
}

/** Where ids come from: `size` random bytes, for example `randomBytes` of node:crypto. */
export type RandomBytes = (size: number) => Uint8Array;

const SAMPLED = 0x01;
const HEADER =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
/** Later versions may add fields; a header longer than any sensible one is not worth reading. */
const MAX_LENGTH = 512;

const isTraceId = (text: string): text is TraceId => /^(?!0{32})[0-9a-f]{32}$/.test(text);
const isSpanId = (text: string): text is SpanId => /^(?!0{16})[0-9a-f]{16}$/.test(text);

/** Undefined for whatever the standard calls invalid: then a new trace begins. */
export const parseTraceparent = (header: string | undefined): TraceContext | undefined => {
  if (header === undefined || header.length > MAX_LENGTH) return undefined;
  const { version, traceId, spanId, flags, rest } = HEADER.exec(header)?.groups ?? {};
  if (version === undefined || version === 'ff') return undefined;
  // Version 00 has exactly four fields; only a later one may have more.
  if (version === '00' && rest !== undefined) return undefined;
  if (traceId === undefined || !isTraceId(traceId)) return undefined;
  if (spanId === undefined || !isSpanId(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags ?? '00', 16) & SAMPLED) !== 0 };
};

export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

export const newTrace = (random: RandomBytes, sampled = true): TraceContext => ({
  traceId: newTraceId(random),
  spanId: newSpanId(random),
  sampled,
});

/** A span below `parent`: the same trace and sampling, a span id of its own. */
export const childOf = (parent: TraceContext, random: RandomBytes): TraceContext => ({
  ...parent,
  spanId: newSpanId(random),
});

const newTraceId = (random: RandomBytes): TraceId => {
  const id = hex(random, 16);
  if (!isTraceId(id)) throw new Error(badSource(id));
  return id;
};

const newSpanId = (random: RandomBytes): SpanId => {
  const id = hex(random, 8);
  if (!isSpanId(id)) throw new Error(badSource(id));
  return id;
};

const hex = (random: RandomBytes, size: number): string => Buffer.from(random(size)).toString('hex');

const badSource = (id: string): string =>
  `the random source gave "${id}", which is no valid id: it must give as many bytes as asked, not all zero`;
