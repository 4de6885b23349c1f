import { LOG_HEAD_CHUNKS, LOG_TAIL_CHUNKS, MAX_LOG_CHUNK_BYTES } from '@runledger/contracts/run-logs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logBuffer, type LogBuffer } from '../../src/attempt/log-buffer.decide.ts';

const AT = 1_700_000_000_000;
const as = (text: string): string => text;

const heldChunks = (buffer: LogBuffer): number[] => {
  const numbers: number[] = [];
  for (let at = 0; at < buffer.chunks(); at = buffer.nextHeld(at + 1)) numbers.push(at);
  return numbers;
};

describe('the buffer of a log', () => {
  it('holds everything of a log that fits, with numbers and bytes', () => {
    const lines = fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { maxLength: 300 });
    fc.assert(
      fc.property(lines, (written) => {
        const buffer = logBuffer(as);
        for (const line of written) buffer.write({ stream: 'stdout', line }, AT);
        let [first, before] = [0, 0];
        for (const number of heldChunks(buffer)) {
          const chunk = buffer.chunk(number);
          expect(chunk).toMatchObject({ first, before });
          first += chunk?.lines.length ?? 0;
          before += chunk?.bytes ?? 0;
        }
        expect(first).toBe(written.length);
        expect(before).toBe(written.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0));
      }),
    );
  });

  it('holds the beginning and the end of a flood, and says what is missing', () => {
    const buffer = logBuffer(as);
    const lines = 1_000_000;
    for (let n = 0; n < lines; n += 1)
      buffer.write({ stream: 'stdout', line: `line ${n} ${'x'.repeat(90)}` }, AT);
    const held = heldChunks(buffer);
    expect(held).toHaveLength(LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS);
    const head = buffer.chunk(held[LOG_HEAD_CHUNKS - 1] ?? -1);
    const tail = buffer.chunk(held[LOG_HEAD_CHUNKS] ?? -1);
    const end = buffer.chunk(held.at(-1) ?? -1);
    expect(buffer.chunk(0)?.lines[0]?.[2]).toMatch(/^line 0 /);
    expect(end?.lines.at(-1)?.[2]).toMatch(/^line 999999 /);
    expect(tail?.first).toBeGreaterThan((head?.first ?? 0) + (head?.lines.length ?? 0));
    expect(tail?.before).toBeGreaterThan(90_000_000);
    const bytes = held.reduce((sum, at) => sum + JSON.stringify(buffer.chunk(at)).length, 0);
    expect(bytes).toBeLessThan(1.5 * 1024 ** 2);
    expect(bytes).toBeGreaterThan(0.8 * 1024 ** 2);
  });

  it('bounds empty lines too', () => {
    const buffer = logBuffer(as);
    for (let n = 0; n < 200_000; n += 1) buffer.write({ stream: 'stderr', line: '' }, AT);
    expect(heldChunks(buffer)).toHaveLength(LOG_HEAD_CHUNKS + LOG_TAIL_CHUNKS);
    expect(buffer.chunk(0)?.lines.length).toBeLessThanOrEqual(MAX_LOG_CHUNK_BYTES / 32);
  });

  it('masks a line only when it is read, and once', () => {
    const masked: string[] = [];
    const buffer = logBuffer((text) => {
      masked.push(text);
      return '***';
    });
    buffer.write({ stream: 'stdout', line: 'a secret' }, AT);
    expect(masked).toEqual([]);
    expect(buffer.chunk(0)?.lines).toEqual([[AT, 'stdout', '***', false]]);
    buffer.write({ stream: 'stdout', line: 'another' }, AT);
    expect(buffer.chunk(0)?.lines).toHaveLength(2);
    expect(masked).toEqual(['a secret', 'another']);
  });
});
