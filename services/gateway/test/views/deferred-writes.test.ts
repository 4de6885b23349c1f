import fc from 'fast-check';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { casesOf } from '@runledger/testing/random/cases';
import { describe, expect, it } from 'vitest';
import { beginningOf, type ProjectionPosition } from '../../src/views/projection-start.decide.ts';
import type { RunView, StoredView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { deferWrites } from '../../src/views/sqlite/deferred-writes.ts';
import { aView, folded } from '../fixtures/runs/folded-runs.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';

const BEGINNING = beginningOf({ created: '2026-01-01T00:00:00Z', since: '2026-01-01T00:00:00Z' }, 1);
const at = (sequence: number): ProjectionPosition => ({ ...BEGINNING, sequence });

/** A run after each of its facts, the first at this sequence. */
const history = (first: number): RunView[] => {
  const key = aRun();
  const facts = [queued(key), assigned(key), started(key), succeeded(key)];
  return facts.map((_, index) => aView(first + index, folded(...facts.slice(0, index + 1))));
};
const one = (views: readonly RunView[], index: number): RunView => {
  const view = views[index];
  if (!view) throw new Error(`there is no view ${index}`);
  return view;
};

interface Write {
  readonly views: readonly StoredView[];
  readonly from: number;
  readonly to: number;
}

/** A file that notes what is written, and cannot be written while it is full. */
const aFile = () => {
  const writes: Write[] = [];
  let position = BEGINNING;
  const file = {
    isFull: false,
    writes,
    position: () => position,
    find: () => undefined,
    advance: (views: readonly StoredView[], from: ProjectionPosition, to: ProjectionPosition) => {
      if (file.isFull) throw new Error('the disk is full');
      writes.push({ views, from: from.sequence, to: to.sequence });
      if (from.sequence !== position.sequence) return false;
      position = to;
      return true;
    },
  };
  return file;
};

const NEVER_MS = 1_000_000;

describe('deferred writes', () => {
  it('write the last view of each run, once, with the last position', () => {
    const file = aFile();
    const deferred = deferWrites(file, NEVER_MS);
    const [run, other] = [history(1), history(10)];
    deferred.advance([one(run, 0)], at(0), at(1));
    deferred.advance([one(run, 1), one(other, 0)], at(1), at(10));
    deferred.advance([one(run, 2)], at(10), at(11));
    expect(file.writes).toEqual([]);
    expect(deferred.find(one(run, 0).run)).toEqual(one(run, 2));
    expect(deferred.position()).toEqual(at(11));
    deferred.flush();
    deferred.flush();
    expect(file.writes).toEqual([{ views: [one(run, 2), one(other, 0)], from: 0, to: 11 }]);
  });

  it('are written by themselves', async () => {
    const file = aFile();
    const deferred = deferWrites(file, 1);
    deferred.advance([], at(0), at(1));
    await waitFor('the write', () => file.writes.length > 0);
    expect(file.writes).toEqual([{ views: [], from: 0, to: 1 }]);
  });

  it('stay while the file cannot be written, and the next batch is refused until it can', () => {
    const file = aFile();
    const deferred = deferWrites(file, NEVER_MS);
    const run = history(1);
    deferred.advance([one(run, 0)], at(0), at(1));
    file.isFull = true;
    expect(() => deferred.flush()).toThrow('the disk is full');
    expect(() => deferred.advance([one(run, 1)], at(1), at(2))).toThrow('the disk is full');
    expect(deferred.find(one(run, 0).run)).toEqual(one(run, 0));
    expect(deferred.position()).toEqual(at(1));
    file.isFull = false;
    expect(deferred.advance([one(run, 1)], at(1), at(2))).toBe(true);
    deferred.flush();
    expect(file.writes).toEqual([
      { views: [one(run, 0)], from: 0, to: 1 },
      { views: [one(run, 1)], from: 1, to: 2 },
    ]);
  });

  it('never hold more than some views', () => {
    const file = aFile();
    const deferred = deferWrites(file, NEVER_MS);
    for (let sequence = 0; sequence < 1_000; sequence += 1) {
      deferred.advance([one(history(sequence + 1), 0)], at(sequence), at(sequence + 1));
    }
    expect(Math.max(...file.writes.map(({ views }) => views.length))).toBeLessThan(100);
  });
});

/** What happens to one of some runs; `heads` is how many of its facts the view has. */
const aStep = fc.record({
  kind: fc.constantFrom('advance', 'save', 'remove', 'reset'),
  run: fc.nat(3),
  facts: fc.integer({ min: 1, max: 4 }),
});

const take = async (
  views: RunViews,
  histories: readonly RunView[][],
  { kind, run, facts }: { readonly kind: string; readonly run: number; readonly facts: number },
  step: number,
): Promise<unknown> => {
  const view = one(histories[run] ?? [], facts - 1);
  const from = (await views.position()) ?? BEGINNING;
  switch (kind) {
    case 'advance':
      return views.advance([view], from, { ...from, sequence: step + 1 });
    case 'save':
      return views.save([view]);
    case 'remove':
      return views.remove([view]);
    default:
      return views.resetTo({ ...BEGINNING, derivation: from.derivation + 1 });
  }
};

describe('views in a file', () => {
  it('are the same whether each is written at once or later', () =>
    fc.assert(
      fc.asyncProperty(fc.array(aStep, { maxLength: 25 }), async (steps) => {
        const histories = Array.from({ length: 4 }, (_, index) => history(1 + index * 10));
        const keys = histories.map((views) => one(views, 0).run);
        await using atOnce = sqliteViews();
        await using later = sqliteViews();
        await Promise.all([atOnce.resetTo(BEGINNING), later.resetTo(BEGINNING)]);
        for (const [index, step] of steps.entries()) {
          const expected = await take(atOnce, histories, step, index);
          // Nothing is deferred behind it.
          await atOnce.countQueued(keys[0]?.org_id ?? aRun().org_id, 1);
          expect(await take(later, histories, step, index)).toEqual(expected);
          expect(await later.load(keys)).toEqual(await atOnce.load(keys));
          expect(await later.position()).toEqual(await atOnce.position());
        }
        const listed = (views: RunViews) =>
          Promise.all(keys.map(({ org_id }) => views.listRuns({ org_id, limit: 10 })));
        expect(await listed(later)).toEqual(await listed(atOnce));
      }),
      { numRuns: casesOf(12) },
    ));
});
