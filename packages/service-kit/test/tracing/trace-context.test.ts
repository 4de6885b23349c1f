import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { childOf, formatTraceparent, newTrace, parseTraceparent } from '../../src/tracing/trace-context.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';

describe('a traceparent header', () => {
  it.each([
    [`00-${trace}-${span}-01`, true],
    [`00-${trace}-${span}-00`, false],
    [`00-${trace}-${span}-fe`, false],
    [`00-${trace}-${span}-03`, true],
    [`cc-${trace}-${span}-01-what-comes-later`, true],
    [`cc-${trace}-${span}-01`, true],
  ])('%s is read', (header, sampled) => {
    expect(parseTraceparent(header)).toEqual({ traceId: trace, spanId: span, sampled });
  });

  it.each([
    undefined,
    '',
    `00-${trace}-${span}`,
    `00-${trace}-${span}-1`,
    `00-${trace}-${span}-01-more`,
    `00-${trace}-${span}-01 `,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-${span}-01`,
    `cc-${trace}-${span}-01more`,
    `cc-${trace}-${span}-01-${'x'.repeat(1000)}`,
    `00-${trace}-${span}-01\n`,
  ])('%j is invalid', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  it('is written as it was read', () => {
    const context = newTrace(randomBytes, false);
    expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
  });
});

describe('a trace', () => {
  it('takes its ids from the random source', () => {
    const context = newTrace((size) => new Uint8Array(size).fill(0xab));
    expect(context).toEqual({ traceId: 'ab'.repeat(16), spanId: 'ab'.repeat(8), sampled: true });
  });

  it('keeps its id and sampling in a child, which has a span id of its own', () => {
    const parent = newTrace(randomBytes, false);
    const child = childOf(parent, randomBytes);
    expect(child).toEqual({ ...parent, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(child.spanId).not.toBe(parent.spanId);
  });

  it.each([(size: number) => new Uint8Array(size), () => new Uint8Array(1)])(
    'refuses a source that gives no valid ids',
    (source) => {
      expect(() => newTrace(source)).toThrow('random source');
    },
  );
});
