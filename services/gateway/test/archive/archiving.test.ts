import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { aRun, assigned, deleted, queued, started, succeeded } from '@runledger/testing/run-events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArchiveUnavailable, type ArchiveObjects } from '../../src/archive/archive-objects.ts';
import { archiveRecords, POSITION } from '../../src/archive/archive-walk.ts';
import { archiveState } from '../../src/archive/archive.ts';
import { aLog, type TestLog } from '../fixtures/gateway/a-log.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll, forgetBefore, untilOlder } from '../fixtures/runs/forgotten-log.ts';
import {
  archiveAll,
  archivedIn,
  archivedOf,
  archiving,
  behindOf,
  catchUp,
  damage,
  failingFor,
  objectsOf,
  positionOf,
} from './archived-runs.ts';

let test: TestLog;
let log: EventLog;
beforeEach(async () => {
  test = await aLog();
  ({ log } = test);
});
afterEach(() => test[Symbol.asyncDispose]());

/** A run of two facts. */
const someRun = async (org?: string): Promise<RunKey> => {
  const run = aRun(org);
  await appendAll(log, queued(run), assigned(run));
  return run;
};

const countOf = async (key: RunKey): Promise<number | undefined> => (await archivedOf(log, key))?.life.length;

/** What stops a process in the middle. */
class Killed extends Error {}

describe('archiving', () => {
  it('has one object for each run, with all that the log has of it', async () => {
    const runs = [await someRun(), await someRun(), await someRun()];
    const [first] = runs;
    if (!first) throw new Error('there are runs');
    await archiveAll(log);
    await appendAll(log, started(first));
    await archiveAll(log);
    expect(await Promise.all(runs.map(countOf))).toEqual([3, 2, 2]);
    expect(await archivedIn(log)).toHaveLength(3);
    expect(await positionOf(log)).toMatchObject({ sequence: 7 });
  });

  it.each(['before', 'behind'] as const)(
    'goes on after it was killed %s any step, and nothing is lost or twice',
    async (when) => {
      const runs = [await someRun(), await someRun()];
      const objects = objectsOf(log);
      for (let step = 1; ; step += 1) {
        let steps = 0;
        const dying =
          <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
          async (...given: Given): Promise<Result> => {
            steps += 1;
            if (steps >= step && when === 'before') throw new Killed();
            const result = await work(...given);
            if (steps >= step) throw new Killed();
            return result;
          };
        const dies: ArchiveObjects = {
          ...objects,
          put: dying(objects.put),
          get: dying(objects.get),
          remove: dying(objects.remove),
        };
        const { archive } = archiving(log, { objects: dies });
        const outcomes = await Promise.allSettled(runs.map(archive));
        if (outcomes.every(({ status }) => status === 'fulfilled')) break;
        const next = runs[0];
        if (next && step === 2) await appendAll(log, started(next));
      }
      await archiveAll(log);
      expect(await Promise.all(runs.map(countOf))).toEqual([3, 2]);
    },
  );

  it('does not believe a store that gives back other bytes than it took', async () => {
    const run = await someRun();
    const objects = objectsOf(log);
    let bytes: Buffer | undefined;
    const lying: ArchiveObjects = {
      ...objects,
      put: async (_key, written) => {
        bytes = Buffer.from(written.toReversed());
      },
      get: async () => bytes,
    };
    await expect(archiving(log, { objects: lying }).archive(run)).rejects.toThrow(ArchiveUnavailable);
  });

  it('writes once more when a fact comes while it writes', async () => {
    const run = await someRun();
    const objects = objectsOf(log);
    let writes = 0;
    const slow: ArchiveObjects = {
      ...objects,
      put: async (key, bytes) => {
        writes += 1;
        if (writes === 1) await appendAll(log, started(run));
        await objects.put(key, bytes);
      },
    };
    await archiving(log, { objects: slow }).archive(run);
    expect([writes, await countOf(run)]).toEqual([2, 3]);
  });

  it('goes on behind what left the log, which it keeps', async () => {
    const run = await someRun();
    const unseen = await someRun();
    await archiving(log).archive(run);
    await untilOlder(log);
    const third = await appendAll(log, started(run));
    await forgetBefore(log, third);
    await archiveAll(log);
    expect(await countOf(run)).toBe(3);
    expect(await countOf(unseen)).toBeUndefined();
    expect(await positionOf(log)).toMatchObject({ sequence: 5 });
  });
});

describe('a log that has other messages than were archived', () => {
  it('is archived again, and an end that only the archive has stays', async () => {
    const run = await someRun();
    await appendAll(log, started(run), succeeded(run));
    await archiveAll(log);
    const { positions } = archiveRecords(log);
    const position = await positions.get(POSITION);
    if (!position) throw new Error('it has a position');
    await positions.put(POSITION, { ...position.value, hash: 'A'.repeat(43) });
    await archiveAll(log);
    expect(await countOf(run)).toBe(4);
    expect(await positionOf(log)).toMatchObject({ sequence: 4, hash: position.value.hash });
  });
});

describe('an organisation of which a run cannot be archived', () => {
  it('is named with its object, and holds up nobody: neither facts nor deletions of others', async () => {
    const one = await someRun();
    await archiveAll(log);
    await untilOlder(log);
    const restore = await damage(log, one);
    await forgetBefore(log, await appendAll(log, started(one)));
    const other = await someRun();
    await appendAll(log, started(other), succeeded(other), deleted(other));
    await archiveAll(log);
    expect(await behindOf(log)).toMatchObject([{ org_id: one.org_id, from: 3 }]);
    const [{ why } = { why: '' }] = await behindOf(log);
    expect(why).toContain(objectsOf(log).placeOf(one));
    expect(why).toContain('Restore the object from a backup, or remove it');
    const state = archiveState({ log });
    expect(await state()).toMatchObject({ ok: true, note: expect.stringContaining(one.org_id) });
    expect(await countOf(other)).toBe(5);
    const said: string[] = [];
    await archiving(log).erase(other, 'run', async () => void said.push('erased'));
    expect([await countOf(other), ...said]).toEqual([undefined, 'erased']);
    // It goes on by itself when the object is there again.
    await catchUp(log);
    expect(await behindOf(log)).toHaveLength(1);
    await restore();
    await appendAll(log, succeeded(one));
    await archiveAll(log);
    await catchUp(log);
    expect(await behindOf(log)).toEqual([]);
    expect(await state()).toEqual({ ok: true });
    expect(await countOf(one)).toBe(4);
  });

  it('has its deleted run erased although the object is damaged', async () => {
    const run = await someRun();
    await archiveAll(log);
    await damage(log, run);
    await appendAll(log, deleted(run));
    await archiving(log).erase(run, 'run', async () => undefined);
    expect(await archivedIn(log)).toEqual([]);
  });

  it(
    'may have a store that never answers: the others are archived meanwhile',
    { timeout: 60_000 },
    async () => {
      const slow = await someRun();
      const others = [await someRun(), await someRun(), await someRun()];
      const never = new Promise<never>(() => undefined);
      const objects = failingFor(objectsOf(log), slow.org_id, () => never);
      const walking = archiving(log, { objects }).walk(AbortSignal.timeout(3_000));
      await expect.poll(() => Promise.all(others.map(countOf)), { timeout: 5_000 }).toEqual([2, 2, 2]);
      void walking;
    },
  );

  it('is every one when the store is away, and all come back', async () => {
    const runs = [await someRun(), await someRun()];
    const away = async (): Promise<never> => {
      throw new ArchiveUnavailable('the store is away');
    };
    const objects = { ...objectsOf(log), get: away, put: away, remove: away };
    await archiveAll(log, { objects });
    expect(await behindOf(log)).toHaveLength(2);
    expect(await positionOf(log)).toMatchObject({ sequence: 4 });
    await catchUp(log);
    expect(await behindOf(log)).toEqual([]);
    expect(await Promise.all(runs.map(countOf))).toEqual([2, 2]);
  });

  it('loses what leaves the log meanwhile, and goes on behind that', async () => {
    const run = await someRun();
    const away = async (): Promise<never> => {
      throw new ArchiveUnavailable('the store is away');
    };
    await archiveAll(log, { objects: failingFor(objectsOf(log), run.org_id, away) });
    await forgetAll(log);
    const later = await someRun(run.org_id);
    await archiveAll(log);
    await catchUp(log);
    expect(await behindOf(log)).toEqual([]);
    expect([await countOf(run), await countOf(later)]).toEqual([undefined, 2]);
  });
});
