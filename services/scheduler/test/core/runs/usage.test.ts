import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WaitingRun } from '../../../src/core/runs/known-run.ts';
import { newOrgUsage, Usage, type Line } from '../../../src/core/runs/usage.ts';

const ROWS = 60;
const KEYS = ['a', 'b'];
/** With the line before them. A run enters the third one together with the second one. */
const LINES = { alone: null, first: null, second: 'first', third: 'second' } as const;
const NEXT: Readonly<Record<string, readonly Name[]>> = { first: ['second', 'third'] };
type Name = keyof typeof LINES;
const NAMES = Object.keys(LINES) as Name[];

/** What happens to a run: it waits in a line, or in the next one too; it leaves all of them; it gets a slot, or gives it back. */
const step = fc.record({
  row: fc.nat({ max: ROWS - 1 }),
  line: fc.constantFrom('alone', 'first', 'first'),
  // Mostly more of them than leave, so that a key has many.
  kind: fc.constantFrom('wait', 'wait', 'wait', 'leave', 'start', 'release'),
});

/** Not in the order of the rows. */
const numberOf = (row: number): number => (row * 23) % ROWS;
/** One of them has many runs. */
const keyOf = (row: number): string => (row % 6 === 0 ? 'b' : 'a');

const aRun = (row: number): WaitingRun =>
  ({
    row,
    run: { number: numberOf(row), request: { concurrency_key: keyOf(row) } },
  }) as unknown as WaitingRun;

const inOrder = (rows: readonly number[]): number[] =>
  rows.toSorted((one, other) => numberOf(one) - numberOf(other));

/** All of them: each is held back, and released again. */
const readyIn = (line: Line | undefined): number[] => {
  const ready: number[] = [];
  for (let row = line?.runs.firstReady(); row !== undefined; row = line?.runs.firstReady()) {
    ready.push(row);
    line?.runs.holdBack(row);
  }
  for (const row of ready) line?.runs.release(row);
  return ready;
};

class Model {
  readonly waits = new Map<number, Name[]>();
  readonly slots = new Set<number>();

  /** In this line, of each key without a slot the run that was queued first. */
  ready(line: Name): number[] {
    const waiting = [...this.waits].flatMap(([row, lines]) => (lines.includes(line) ? [row] : []));
    return KEYS.flatMap((key) => {
      if ([...this.slots].some((row) => keyOf(row) === key)) return [];
      const own = waiting.filter((row) => keyOf(row) === key);
      return own.toSorted((one, other) => numberOf(one) - numberOf(other)).slice(0, 1);
    });
  }
}

describe('the waiting runs of concurrency keys', () => {
  it('are ready in the order in which they were queued, the first of a key in each line, for any steps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const model = new Model();
        const lines = new Map<string, Line>();
        const next = new Map<number, number | undefined>();
        const usage = new Usage(newOrgUsage(Infinity), {
          numberOf,
          placeOf: (row) => lines.get(model.waits.get(row)?.at(-1) ?? ''),
          concurrencyKeyOf: keyOf,
          nextOfKey: (row) => next.get(row),
          setNextOfKey: (row, other) => void next.set(row, other),
        });
        for (const name of NAMES) {
          const before = LINES[name];
          const like = { name, requirements: {} as Line['requirements'], holdOut: null };
          const all: Line[] = before ? [...(lines.get(before)?.all ?? [])] : [];
          const together = name === 'third' ? lines.get('second') : undefined;
          const line = { ...usage.newLine(aRun(0), like, together), all };
          all.push(line);
          lines.set(name, line);
        }
        const enter = (row: number, name: Name): void => {
          model.waits.set(row, [...(model.waits.get(row) ?? []), name]);
          const line = lines.get(name);
          if (line) usage.add(aRun(row), line);
        };
        const leave = (row: number): void => {
          const own = (model.waits.get(row) ?? []).flatMap((name) => lines.get(name) ?? []);
          expect(usage.remove(aRun(row), own)).toBe(own.length > 0);
          model.waits.delete(row);
        };
        for (const { row, line, kind } of steps) {
          const waits = model.waits.get(row) ?? [];
          if (kind === 'wait' && !model.slots.has(row)) {
            const entered: readonly Name[] = waits.length === 0 ? [line] : (NEXT[waits.at(-1) ?? ''] ?? []);
            for (const name of entered) enter(row, name);
          } else if (kind === 'leave') leave(row);
          else if (kind === 'start' && NAMES.some((one) => model.ready(one).includes(row))) {
            leave(row);
            model.slots.add(row);
            usage.hold(aRun(row), 1);
          } else if (kind === 'release' && model.slots.delete(row)) usage.hold(aRun(row), -1);
          for (const one of NAMES) {
            const runs = lines.get(one)?.runs;
            const waiting = [...model.waits.values()].filter((own) => own.includes(one));
            expect([runs?.size, runs?.firstReady()]).toEqual([waiting.length, inOrder(model.ready(one))[0]]);
          }
          const all = new Set([...model.waits.values(), ...(model.slots.size > 0 ? [['']] : [])].flat());
          expect(usage.isIdle).toBe(all.size === 0);
        }
        for (const [row, names] of model.waits)
          for (const name of names) {
            const line = lines.get(name);
            const before = (other: number): boolean => numberOf(other) < numberOf(row);
            const expected = [...model.waits].filter(
              ([other, own]) => keyOf(other) === keyOf(row) && own.includes(name) && before(other),
            );
            expect(line && usage.countOfKey(aRun(row), line, before)).toBe(expected.length);
          }
        const expected = NAMES.map((name) => inOrder(model.ready(name)));
        expect(NAMES.map((name) => readyIn(lines.get(name)))).toEqual(expected);
      }),
      { numRuns: casesOf(20) },
    );
  });
});
