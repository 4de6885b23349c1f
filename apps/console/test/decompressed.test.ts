import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decompressed } from '../worker/decompressed.ts';

const read = async (content: Uint8Array<ArrayBuffer>): Promise<string> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of decompressed(new Blob([content]))) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};

describe('a compressed file in a browser', () => {
  it('is what was compressed', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ maxLength: 300 }),
        fc.integer({ min: 1, max: 900 }),
        async (text, times) => {
          const whole = text.repeat(times);
          expect(await read(Uint8Array.from(zstdCompressSync(whole)))).toBe(Buffer.from(whole).toString());
        },
      ),
      { numRuns: 30 },
    ));

  it('is refused when it is something else', () =>
    expect(read(new TextEncoder().encode('Not compressed.'))).rejects.toThrow('zstd'));
});
