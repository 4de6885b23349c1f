import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aRun, assigned, queued } from '@runledger/testing/run-events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RangeTaken } from '../../src/archive/seal-range.ts';
import { ArchiveUnavailable, type ArchiveObjects } from '../../src/archive/archive-objects.ts';
import { archiveRecords } from '../../src/archive/archive-records.ts';
import { aLog, type TestLog } from '../fixtures/gateway/a-log.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { archiveAll, objectsIn, objectsOf, positionOf, segmentsIn, textOfSegments } from './archived-runs.ts';

let test: TestLog;
let log: EventLog;
beforeEach(async () => {
  test = await aLog();
  ({ log } = test);
});
afterEach(() => test[Symbol.asyncDispose]());

const someRuns = async (count: number, org?: string): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const run = aRun(org);
    await appendAll(log, queued(run), assigned(run));
  }
};

/** What stops a process in the middle. */
class Killed extends Error {}

describe('archiving', () => {
  it('writes a segment for each organisation and range, and the ranges follow each other', async () => {
    const [one, other] = [aRun().org_id, aRun().org_id];
    await someRuns(3, one);
    await someRuns(2, other);
    await archiveAll(log);
    await someRuns(1, one);
    await archiveAll(log);
    const segments = await segmentsIn(log);
    expect(
      segments.map(({ org_id, first_sequence, last_sequence, messages, runs }) => ({
        org_id,
        first_sequence,
        last_sequence,
        messages,
        runs,
      })),
    ).toEqual(
      expect.arrayContaining([
        { org_id: one, first_sequence: 1, last_sequence: 10, messages: 6, runs: 3 },
        { org_id: other, first_sequence: 1, last_sequence: 10, messages: 4, runs: 2 },
        { org_id: one, first_sequence: 11, last_sequence: 12, messages: 2, runs: 1 },
      ]),
    );
    expect(segments).toHaveLength(3);
    expect(await positionOf(log)).toMatchObject({ sequence: 12, sealing: null });
    await archiveAll(log);
    expect(await segmentsIn(log)).toHaveLength(3);
  });

  it('waits until facts are old enough', async () => {
    await someRuns(1);
    await archiveAll(log, { afterMs: 3_600_000 });
    expect(await segmentsIn(log)).toEqual([]);
  });

  it.each(['put', 'find'] as const)(
    'goes on after it was interrupted at %s, with nothing twice and nothing left',
    async (at) => {
      const orgs = [aRun().org_id, aRun().org_id, aRun().org_id];
      for (const org of orgs) await someRuns(2, org);
      const objects = objectsOf(log);
      let calls = 0;
      const dying: ArchiveObjects = {
        ...objects,
        [at]: async (key: string, bytes: Buffer) => {
          calls += 1;
          if (calls > 1 && at === 'find') throw new Killed();
          const result = at === 'put' ? await objects.put(key, bytes) : await objects.find(key);
          // After it was stored.
          if (calls > 1) throw new Killed();
          return result;
        },
      };
      await expect(archiveAll(log, { objects: dying })).rejects.toThrow(Killed);
      expect((await positionOf(log))?.sealing).toMatchObject({ last_sequence: 12, tries: 0 });
      expect(await segmentsIn(log)).toHaveLength(1);
      // What is stored meanwhile does not change the range.
      await someRuns(1, orgs[0]);
      await archiveAll(log);
      const segments = await segmentsIn(log);
      expect(segments.map(({ last_sequence }) => last_sequence).toSorted((a, b) => a - b)).toEqual([
        12, 12, 12, 14,
      ]);
      expect(await objectsIn(log)).toBe(4);
      const text = await textOfSegments(log);
      for (let sequence = 1; sequence <= 14; sequence += 1)
        expect(text.split(`"sequence":${sequence},`)).toHaveLength(2);
    },
  );

  it('of two gateways lets one finish, and the slower one stores nothing', async () => {
    await someRuns(2, aRun().org_id);
    const objects = objectsOf(log);
    const slow: ArchiveObjects = {
      ...objects,
      find: async (key) => {
        const read = await objects.find(key);
        return (
          read &&
          (async (span) => {
            const bytes = await read(span);
            // Another one takes over, and finishes.
            await archiveAll(log);
            return bytes;
          })
        );
      },
    };
    await expect(archiveAll(log, { objects: slow })).rejects.toThrow(RangeTaken);
    expect(await segmentsIn(log)).toHaveLength(1);
    expect(await objectsIn(log)).toBe(1);
    expect(await positionOf(log)).toMatchObject({ sequence: 4, sealing: null });
    await textOfSegments(log);
  });

  it('counts no segment that the store gives back otherwise than it took it', async () => {
    await someRuns(2);
    const objects = objectsOf(log);
    const lying: ArchiveObjects = {
      ...objects,
      find: async (key) => {
        const read = await objects.find(key);
        return read && (async (span) => Buffer.from((await read(span)).toReversed()));
      },
    };
    await expect(archiveAll(log, { objects: lying })).rejects.toThrow(ArchiveUnavailable);
    expect(await segmentsIn(log)).toEqual([]);
    expect(await positionOf(log)).toMatchObject({ sequence: 0 });
  });

  it('says how much left the log before, and goes on behind it', async () => {
    await someRuns(1);
    await archiveAll(log);
    await someRuns(2);
    await forgetAll(log);
    await someRuns(1);
    const lost: number[] = [];
    await archiveAll(log, { onLost: (messages) => lost.push(messages) });
    expect(lost).toEqual([4]);
    expect(await positionOf(log)).toMatchObject({ sequence: 8 });
  });

  it('archives all of a log that has other messages at its positions, beside what it had', async () => {
    const org = aRun().org_id;
    await someRuns(2, org);
    await archiveAll(log);
    const { positions } = archiveRecords(log);
    const [position] = await positions.list('positions');
    if (!position) throw new Error('it has a position');
    // As after a restore from an older copy.
    await positions.put(position.key, { ...position.value, leaf: 'A'.repeat(43) });
    const back: number[] = [];
    await archiveAll(log, { onWentBack: ({ sequence }) => back.push(sequence) });
    expect(back).toEqual([4]);
    expect((await segmentsIn(log)).map(({ log: name }) => name.slice(-2)).toSorted()).toEqual(['-0', '-1']);
    expect(await positionOf(log)).toMatchObject({ branch: 1, sequence: 4 });
  });
});
