import { setImmediate as settle } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_TURNS, openTurns, type Turns } from '../../src/attempt/turns.ts';

const NEVER = new AbortController().signal;
const nothing = (): void => undefined;

/** A run that takes its turn, and what became of that. */
const take = (turns: Turns, org_id: string, signal = NEVER) => {
  const run = { org_id, isWaiting: false, turn: undefined as Disposable | null | undefined };
  void turns.acquire(org_id, signal, () => (run.isWaiting = true)).then((turn) => (run.turn = turn));
  return run;
};

describe('turns', () => {
  it('are of one organisation, whose runs execute together', async () => {
    const turns = openTurns(async () => undefined);
    const [first, second, other] = [take(turns, 'a'), take(turns, 'a'), take(turns, 'b')];
    await settle();
    expect([first.turn, second.turn].every(Boolean)).toBe(true);
    expect(other).toMatchObject({ isWaiting: true, turn: undefined });
    first.turn?.[Symbol.dispose]();
    await settle();
    expect(other.turn).toBeUndefined();
    second.turn?.[Symbol.dispose]();
    await settle();
    expect(other.turn).toBeDefined();
  });

  it('go to the next organisation when nothing is left that the former one keeps', async () => {
    const ended = Promise.withResolvers<void>();
    const turns = openTurns(() => ended.promise);
    const first = take(turns, 'a');
    await settle();
    first.turn?.[Symbol.dispose]();
    const [other, again] = [take(turns, 'b'), take(turns, 'a')];
    await settle();
    expect([other, again]).toMatchObject([
      { isWaiting: true, turn: undefined },
      { isWaiting: true, turn: undefined },
    ]);
    ended.resolve();
    await settle();
    expect(other.turn).toBeDefined();
    expect(again.turn).toBeUndefined();
  });

  it('end nothing that an organisation keeps before another one comes', async () => {
    let vacated = 0;
    const turns = openTurns(async () => void (vacated += 1));
    for (const org of ['a', 'a', 'a']) {
      const run = take(turns, org);
      await settle();
      expect(run.isWaiting).toBe(false);
      run.turn?.[Symbol.dispose]();
    }
    expect(vacated).toBe(0);
  });

  it('pass a run that is stopped while it waits, and who waits behind it goes on', async () => {
    const turns = openTurns(async () => undefined);
    const stop = new AbortController();
    const present = take(turns, 'a');
    const [stopped, behind] = [take(turns, 'b', stop.signal), take(turns, 'a')];
    await settle();
    expect(behind.turn).toBeUndefined();
    stop.abort();
    await settle();
    expect(stopped.turn).toBeNull();
    expect([present, behind].every(({ turn }) => turn)).toBe(true);
  });

  it('are given in the order in which runs came, never to two organisations at once, and each run gets one', async () => {
    const action = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('take' as const), org: fc.constantFrom('a', 'b', 'c') }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('stop' as const), which: fc.nat() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        let [executing, vacating]: [string[], boolean] = [[], false];
        const begun: number[] = [];
        const turns = openTurns(async () => {
          vacating = true;
          expect(executing).toEqual([]);
          await settle();
          vacating = false;
        });
        const runs: {
          org: string;
          stop: AbortController;
          end: (() => void) | null;
          over: Promise<unknown>;
        }[] = [];
        const start = (org: string): void => {
          const run = {
            org,
            stop: new AbortController(),
            end: null as (() => void) | null,
            over: Promise.resolve() as Promise<unknown>,
          };
          const index = runs.push(run) - 1;
          run.over = turns.acquire(org, run.stop.signal, nothing).then((turn) => {
            if (turn === null) return;
            begun.push(index);
            executing.push(org);
            expect(new Set(executing).size).toBe(1);
            expect(vacating).toBe(false);
            run.end = () => {
              run.end = null;
              executing.splice(executing.indexOf(org), 1);
              turn[Symbol.dispose]();
            };
          });
        };
        for (const each of actions) {
          if (each.kind === 'take') start(each.org);
          else if (runs.length > 0) {
            const run = runs[each.which % runs.length];
            if (each.kind === 'end') run?.end?.();
            else run?.stop.abort();
          }
          await settle();
        }
        // Whatever was left executing ends, so everybody who waits is served.
        for (let left = runs.length; left >= 0; left -= 1) {
          for (const run of runs) run.end?.();
          await settle();
          await settle();
          await settle();
        }
        await Promise.all(runs.map(({ over }) => over));
        expect(begun).toEqual(begun.toSorted((a, b) => a - b));
        expect(executing).toEqual([]);
      }),
    );
  });
});

it('without turns everybody begins at once, unless it is stopped before', async () => {
  expect(await NO_TURNS.acquire('a', NEVER, nothing)).not.toBeNull();
  expect(await NO_TURNS.acquire('b', AbortSignal.abort(), nothing)).toBeNull();
});
