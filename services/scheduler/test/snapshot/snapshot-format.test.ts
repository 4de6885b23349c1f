import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { newUuid } from '@runledger/contracts/ids';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeSnapshot,
  encodeSnapshot,
  FRAME,
  framesIn,
  jsonFrame,
} from '../../src/snapshot/snapshot-codec.ts';
import { FORMAT, type Snapshot, type SnapshotRun } from '../../src/snapshot/snapshot-format.ts';
import { aScheduling, runsIn, takeRuns, withoutRuns } from '../fixtures/snapshots.ts';
import { waitingRuns } from '../fixtures/waiting-runs.ts';

const created = '2026-01-01T00:00:00.000Z';
const drains = { created, names: [] };
const position = { stream: 'RUNS', created, sequence: 5_000, event_id: null } as const;
const durations = [{ name: 'A10G', weight: 2.5, mean: 1.5, squares: 0.25 }];

/** Some of which rows say everything, and some that were requeued, start later, have a key, or ids of other kinds. */
const runs: SnapshotRun[] = waitingRuns(1_500).map(({ head, run }, index): SnapshotRun => {
  const event_id = index % 3 === 0 ? null : newUuid();
  const own = {
    ...run,
    correlation_id: index % 5 === 0 ? 'request-1' : newUuid(),
    not_before: index % 13 === 0 ? '2026-01-01T00:05:00.250Z' : null,
  };
  if (index % 7 === 0)
    return { head: head + 2_000, event_id, run: { ...own, updated_at: '2026-01-01T00:01:00.000Z' } };
  if (index % 11 !== 0) return { head, event_id, run: own };
  return { head, event_id, run: { ...own, request: { ...own.request, concurrency_key: `key ${index}` } } };
});

const snapshotOf = (taken: readonly SnapshotRun[]): Snapshot => {
  const scheduling = aScheduling();
  takeRuns(scheduling, taken);
  const { kept, ...rows } = scheduling.freeze();
  return {
    position,
    drains,
    durations,
    runs: kept.map(({ head, event_id, run }) => ({ head, event_id, run })),
    ...rows,
  };
};
const encoded = (): Promise<Buffer> => buffer(encodeSnapshot(snapshotOf(runs)));
const decoded = (bytes: Buffer): ReturnType<typeof decodeSnapshot> => decodeSnapshot(Readable.from([bytes]));

describe('a snapshot', () => {
  it('has every run as it was, in pieces of any size', async () => {
    const bytes = await encoded();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: bytes.length }), async (size) => {
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
          bytes.subarray(index * size, (index + 1) * size),
        );
        const read = await decodeSnapshot(Readable.from(pieces));
        expect(read).toMatchObject({ kind: 'decoded', position, drains, durations });
        expect(runsIn(read)).toEqual(runs);
      }),
      { numRuns: casesOf(3) },
    );
  });

  it('is the state of one moment, whatever changes before it is read', async () => {
    const scheduling = aScheduling();
    takeRuns(scheduling, runs);
    const { kept, ...rows } = scheduling.freeze();
    const ends = runs.filter((_run, index) => index % 2 === 0);
    for (const { run } of ends)
      scheduling.take({ type: 'run_unreadable', key: { org_id: run.org_id, run_id: run.run_id } });
    takeRuns(scheduling, waitingRuns(700));
    const read = await decoded(
      await buffer(encodeSnapshot({ position, drains, durations, runs: kept, ...rows })),
    );
    expect(runsIn(read)).toEqual(runs);
  });

  it('may have no runs', async () => {
    const read = await decoded(await buffer(encodeSnapshot(withoutRuns({ drains, durations }))));
    expect(read).toEqual({ kind: 'decoded', position: undefined, ...withoutRuns({ drains, durations }) });
  });

  it('is invalid wherever it is cut off', async () => {
    const bytes = await encoded();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (length) => {
        expect(await decoded(bytes.subarray(0, length))).toMatchObject({ kind: 'invalid' });
      }),
      { numRuns: casesOf(10) },
    );
  });

  it('is invalid when any byte of it is another one', async () => {
    const bytes = await encoded();
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: bytes.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, by) => {
          const damaged = Buffer.from(bytes);
          damaged.writeUInt8((damaged.readUInt8(at) + by) % 256, at);
          expect(await decoded(damaged)).toMatchObject({ kind: 'invalid' });
        },
      ),
      { numRuns: casesOf(10) },
    );
  });

  it.each([
    ['has a run too few', { runs: 1 }, 'holds 0'],
    ['has a row too few', { rows: 1 }, 'holds 0'],
  ])('that %s is invalid, but its drained names count', async (_what, counts, why) => {
    const header = { format: FORMAT, position, runs: 0, rows: 0, drains, durations, ...counts };
    const [, end] = await frames(await buffer(encodeSnapshot(withoutRuns({ drains }))));
    const bytes = Buffer.concat([jsonFrame(FRAME.header, header), end ?? Buffer.alloc(0)]);
    expect(await decoded(bytes)).toEqual({ kind: 'invalid', why: expect.stringContaining(why), drains });
  });

  it('of another format is invalid as a whole', async () => {
    const other = await decoded(jsonFrame(FRAME.header, { format: FORMAT - 1 }));
    expect(other).toEqual({ kind: 'invalid', why: `it cannot be read (it is not of format ${FORMAT})` });
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

/** The bytes of each. */
const frames = async (bytes: Buffer): Promise<Buffer[]> => {
  const all: Buffer[] = [];
  let from = 0;
  for await (const { content } of framesIn(Readable.from([bytes]))) {
    const to = from + 9 + content.length;
    all.push(bytes.subarray(from, to));
    from = to;
  }
  return all;
};
