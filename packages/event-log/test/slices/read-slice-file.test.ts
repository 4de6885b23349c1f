import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import type { SliceFact, SliceHeader, SliceLine } from '@runledger/contracts/slices/slice';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InvalidSlice } from '@runledger/contracts/slices/read-slice';
import { readSliceFile } from '../../src/slices/read-slice-file.ts';

const time = '2026-05-01T12:00:00.000Z';
const extent = { created: time, first_sequence: 1, last_sequence: 9 };
const header: SliceHeader = {
  kind: 'header',
  version: 2,
  from: time,
  to: time,
  warm_up_from: time,
  organisations: [],
  deployments: [],
  runs: [],
  content: { kept: [], masked: {} },
  streams: { RUNS: extent, FLEET: extent, DELIVERY_ATTEMPTS: extent },
};
const fact = (sequence: number): SliceFact => ({
  kind: 'fact',
  stream: 'RUNS',
  sequence,
  time,
  subject: 'runs.a.b.life.queued.gateway.0.none',
  fence: null,
  expected_sequence: null,
  event: { type: 'RunQueued', data: { prompt: 'ü'.repeat(50_000) } },
});
const end: SliceLine = { kind: 'end', facts: 2 };
const text = (...lines: readonly object[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const WHOLE = text(header, fact(1), fact(2), end);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slice-'));
});
afterAll(() => rm(folder, { recursive: true }));

const linesOf = async (path: string): Promise<SliceLine[]> => {
  const lines: SliceLine[] = [];
  for await (const line of readSliceFile(path)) lines.push(line);
  return lines;
};

const read = async (content: Uint8Array | string): Promise<SliceLine[]> => {
  const path = join(folder, 'day.ndjson.zst');
  await writeFile(path, content);
  return linesOf(path);
};

describe('a slice in a file', () => {
  it('gives its header, facts and gaps', async () => {
    const gap: SliceLine = { kind: 'gap', stream: 'RUNS', first_sequence: 2, last_sequence: 3 };
    const lines = [header, fact(1), gap, fact(4)];
    expect(await read(zstdCompressSync(text(...lines, end)))).toEqual(lines);
  });

  it('may have members that only a later release knows', async () => {
    const later = text({ ...header, masks: [] }, end);
    await expect(read(zstdCompressSync(later.replace('"facts":2', '"facts":0')))).resolves.toHaveLength(1);
  });

  it.each([
    ['a slice without its end', text(header, fact(1)), 'is not whole'],
    ['a slice that ends within a line', WHOLE.slice(0, -5), 'is not whole'],
    ['fewer facts than it says', text(header, fact(1), end), 'it says that it has 2 facts, and has 1'],
    ['no header', text(fact(1), fact(2), end), 'line 1 is a fact'],
    ['lines after the end', WHOLE + text(fact(3)), 'line 5 is a fact'],
    ['another line', text(header, { kind: 'progress' }), 'line 2 cannot be read'],
    ['text', 'Not JSON\n', 'line 1 cannot be read'],
    ['a later format', text({ ...header, version: 3 }), 'has format version 3'],
    ['nothing', '', 'is not whole: it ends after line 0'],
  ])('is refused with %s', async (_what, content, why) => {
    const refused = read(zstdCompressSync(content));
    await expect(refused).rejects.toThrow(InvalidSlice);
    await expect(refused).rejects.toThrow(why);
  });

  it('is refused when it is not compressed, or when its end is missing', async () => {
    await expect(read(WHOLE)).rejects.toThrow('cannot be read');
    await expect(read(zstdCompressSync(WHOLE).subarray(0, 100))).rejects.toThrow(InvalidSlice);
    await expect(linesOf(join(folder, 'none'))).rejects.toThrow('no such file');
  });

  it('is refused wherever it was cut off', async () => {
    const whole = zstdCompressSync(WHOLE.replaceAll('ü', ''));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
        await expect(read(whole.subarray(0, length))).rejects.toThrow('is not whole');
      }),
    );
  });
});
