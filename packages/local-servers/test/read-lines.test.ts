import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { readLines } from '../src/managed-process.ts';

describe('lines of a stream', () => {
  const linesOf = async (...pieces: Buffer[]): Promise<string[]> => {
    const stream = new PassThrough();
    const lines: string[] = [];
    readLines(stream, (line) => lines.push(line));
    for (const piece of pieces) stream.write(piece);
    stream.end();
    await finished(stream);
    return lines;
  };

  it('are complete even if chunks split them, and the last one without a line end', async () => {
    const bytes = Buffer.from('first\nsecond: é\n\nlast');
    const cutInside = bytes.indexOf(0xc3) + 1;
    expect(
      await linesOf(bytes.subarray(0, 3), bytes.subarray(3, cutInside), bytes.subarray(cutInside)),
    ).toEqual(['first', 'second: é', 'last']);
  });

  it('are cut at a maximum length', async () => {
    const lines = await linesOf(
      ...Array.from({ length: 8 }, () => Buffer.alloc(100_000, 'x')),
      Buffer.from('\nnext\n'),
    );
    expect(lines.map(({ length }) => length)).toEqual([65_536, 4]);
  });
});
