import { describe, expect, it } from 'vitest';
import { childTraceparent } from '../src/spans.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';
const NEW_TRACE = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/;

describe('the traceparent of a child', () => {
  it.each([
    [`00-${trace}-${span}-01`, '01'],
    [`00-${trace}-${span}-00`, '00'],
    [`00-${trace}-${span}-fe`, '00'],
    [`00-${trace}-${span}-03`, '01'],
    [`cc-${trace}-${span}-01-what-comes-later`, '01'],
    [`cc-${trace}-${span}-01`, '01'],
  ])('of %s keeps trace and sampling, and has a new span id', (header, flags) => {
    const child = childTraceparent(header);
    expect(child).toMatch(new RegExp(`^00-${trace}-(?!0{16})[0-9a-f]{16}-${flags}$`));
    expect(child).not.toContain(span);
    expect(childTraceparent(child)).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-${flags}$`));
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
  ])('of the invalid header %j begins a new trace, which is sampled', (header) => {
    const child = childTraceparent(header);
    expect(child).toMatch(NEW_TRACE);
    expect(child).not.toContain(trace);
    expect(childTraceparent(header)).not.toBe(child);
  });
});
