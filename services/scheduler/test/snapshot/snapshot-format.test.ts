import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot, encodeSnapshot, type Snapshot } from '../../src/snapshot/snapshot-format.ts';
import { waitingRuns } from '../fixtures/waiting-runs.ts';

const created = '2026-01-01T00:00:00.000Z';
const drains = { created, names: [] };
const position = { stream: 'RUNS', created, sequence: 250, event_id: null } as const;
const durations = [{ name: 'A10G', weight: 2.5, mean: 1.5, squares: 0.25 }];
const snapshot: Snapshot = { position, drains, durations, runs: waitingRuns(250) };

const encoded = (): Promise<Buffer> => buffer(encodeSnapshot(snapshot));
const decoded = (bytes: Buffer): ReturnType<typeof decodeSnapshot> => decodeSnapshot(Readable.from([bytes]));
const changed = async (change: (text: string) => string): ReturnType<typeof decodeSnapshot> =>
  decoded(gzipSync(change(gunzipSync(await encoded()).toString())));

describe('a snapshot', () => {
  it('is read back as it was written, in pieces of any size', async () => {
    const bytes = await encoded();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: bytes.length }), async (size) => {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        expect(await decodeSnapshot(Readable.from(pieces))).toEqual({ kind: 'decoded', ...snapshot });
      }),
      { numRuns: 20 },
    );
  });

  it('may have no runs', async () => {
    const bytes = await buffer(encodeSnapshot({ drains, durations, runs: [] }));
    expect(await decoded(bytes)).toEqual({
      kind: 'decoded',
      position: undefined,
      drains,
      durations,
      runs: [],
    });
  });

  it('is invalid wherever it is cut off', async () => {
    const bytes = await encoded();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (length) => {
        expect(await decoded(bytes.subarray(0, length))).toMatchObject({ kind: 'invalid' });
      }),
    );
  });

  it.each([
    ['has a run too few', (text: string) => text.slice(0, text.lastIndexOf('\n')), 'should hold 250 runs'],
    ['has a run too many', (text: string) => `${text}${text.slice(text.lastIndexOf('\n'))}`, 'holds 251'],
    ['has a line that is not a run', (text: string) => text.replace('\n{', '\n['), 'line 2'],
  ])('that %s is invalid, but its drained names count', async (_what, change, why) => {
    expect(await changed(change)).toEqual({ kind: 'invalid', why: expect.stringContaining(why), drains });
  });

  it('of another format is invalid as a whole', async () => {
    const other = await changed((text) => text.replace('"format":1', '"format":2'));
    expect(other).toEqual({ kind: 'invalid', why: 'it is not of format 1' });
  });

  it('is neither valid nor invalid while the broker is unavailable', async () => {
    const bytes = await encoded();
    const interrupted = async function* (): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 200);
      throw new LogUnavailable('the broker is unavailable');
    };
    await expect(decodeSnapshot(interrupted())).rejects.toBeInstanceOf(LogUnavailable);
  });
});
