import { MAX_LOG_LINE_BYTES } from '@runledger/contracts/run-logs';
import { compileMasks, type MaskText } from '@runledger/contracts/log-masks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawLine, printableLine } from '../../src/attempt/log-buffer.decide.ts';

const shown = (line: string, mask: MaskText = (text) => text): [string, boolean] => {
  const [, , text, cut] = printableLine(rawLine({ stream: 'stdout', line }, 1), mask);
  return [text, cut];
};
const masking = (pattern: string): MaskText => {
  const compiled = compileMasks([pattern]);
  if (compiled.kind === 'invalid') throw new Error(compiled.why);
  return compiled.mask;
};

describe('a line of a log', () => {
  it('is shown without colours and control characters', () => {
    expect(shown('\u001B[31mred\u001B[0m\u0000\u0007 \tend')).toEqual(['red \tend', false]);
  });

  it('begins again at a carriage return, as in a terminal', () => {
    expect(shown(' 10%|#   |\r 50%|##  |\r100%|####|')).toEqual(['100%|####|', false]);
  });

  it('is cut at its limit, and no character in two', () => {
    fc.assert(
      fc.property(fc.constantFrom('x', 'é', '漢', '😀'), fc.nat({ max: 3 }), (unit, shift) => {
        const [text, cut] = shown('a'.repeat(shift) + unit.repeat(10_000));
        expect(cut).toBe(true);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_LOG_LINE_BYTES);
        expect(Buffer.byteLength(text)).toBeGreaterThan(MAX_LOG_LINE_BYTES - 4);
        expect(text).not.toContain('\uFFFD');
      }),
    );
    expect(shown('x'.repeat(MAX_LOG_LINE_BYTES))).toEqual(['x'.repeat(MAX_LOG_LINE_BYTES), false]);
  });

  it('never shows a part of what is masked, wherever the line is cut', () => {
    const mask = masking('sk-[a-z0-9]{40}');
    const secret = `sk-${'k3y7'.repeat(10)}`;
    fc.assert(
      fc.property(fc.integer({ min: MAX_LOG_LINE_BYTES - 60, max: MAX_LOG_LINE_BYTES + 60 }), (before) => {
        expect(shown('.'.repeat(before) + secret + ' and more', mask)[0]).not.toContain('k3y7');
      }),
    );
  });
});
