import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  OFF,
  step,
  timerOf,
  type Effect,
  type Lifecycle,
  type LifecycleEvent,
  type Limits,
} from '../../src/residents/lifecycle.decide.ts';

type Event = LifecycleEvent<string>;

const LIMITS: Limits = { startTimeoutMs: 1, idleTimeoutMs: 1, maxRuns: null, preload: false };
const why = 'why';
const preload: Event = { type: 'preload' };
const wanted: Event = { type: 'wanted' };
const withdrawn: Event = { type: 'withdrawn' };
const ready: Event = { type: 'ready' };
const released: Event = { type: 'released' };
const discarded: Event = { type: 'discarded' };
const notReady: Event = { type: 'not_ready', why };
const ended: Event = { type: 'ended', why };
const timer: Event = { type: 'timer', why };
const stop: Event = { type: 'stop', why };

/** The last situation, and the effects of all events in their order. */
const after = (events: readonly Event[], limits: Partial<Limits> = {}): [Lifecycle, string[]] => {
  let state: Lifecycle = OFF;
  const effects: Effect<string>[] = [];
  for (const event of events) {
    const next = step(state, event, { ...LIMITS, ...limits });
    ({ state } = next);
    effects.push(...next.effects);
  }
  return [state, effects.map(({ type }) => type)];
};

describe('a resident process', () => {
  it('is started for the first run, and stays for the next one', () => {
    const [state, effects] = after([wanted, ready, released, wanted]);
    expect(effects).toEqual(['start', 'grant', 'reset_back_off', 'grant']);
    expect(state).toEqual({ phase: 'busy', runs: 1 });
  });

  it('is there before the first run when it is preloaded', () => {
    expect(after([preload, ready])).toEqual([{ phase: 'idle', runs: 0 }, ['start']]);
  });

  it('becomes ready although the run that waited for it was cancelled', () => {
    expect(after([wanted, withdrawn, ready])).toEqual([{ phase: 'idle', runs: 0 }, ['start']]);
  });

  it.each([
    ['ends', ended, ['start', 'refuse']],
    ['says that it cannot become ready', notReady, ['start', 'kill', 'refuse']],
    ['is not ready in time', timer, ['start', 'kill', 'refuse']],
  ])('that %s while it starts fails one run, and backs off before the next start', (_, event, effects) => {
    expect(after([wanted, event])[1]).toEqual(effects);
    const events = [wanted, event, ended, wanted];
    expect(after(events)).toEqual([{ phase: 'backing_off', wanted: true }, effects]);
    expect(after([...events, timer])).toEqual([{ phase: 'starting', wanted: true }, [...effects, 'start']]);
  });

  it.each([
    ['during a run', [wanted, ready, ended]],
    ['between runs', [wanted, ready, released, ended]],
  ])('that crashes %s backs off, and is off until a run wants it', (_, events) => {
    expect(after(events)[0]).toEqual({ phase: 'backing_off', wanted: false });
    expect(after([...events, timer])[0]).toEqual(OFF);
    expect(after([...events, timer], { preload: true })[0]).toEqual({ phase: 'starting', wanted: false });
  });

  it('is asked to end when it was idle for long, and killed when it does not', () => {
    const events = [wanted, ready, released, timer];
    expect(after(events)[1].at(-1)).toBe('ask_to_end');
    expect(after([...events, timer])[1].at(-1)).toBe('kill');
    expect(after([...events, timer, ended])[0]).toEqual(OFF);
  });

  it('that is asked to end serves the run that comes meanwhile with a new start', () => {
    const events = [wanted, ready, released, timer, wanted, ended];
    expect(after(events)).toEqual([
      { phase: 'starting', wanted: true },
      ['start', 'grant', 'reset_back_off', 'ask_to_end', 'start'],
    ]);
  });

  it('is restarted at once after its last run', () => {
    const events = [wanted, ready, released, wanted, released, ended];
    expect(after(events, { maxRuns: 2 })).toEqual([
      { phase: 'starting', wanted: false },
      ['start', 'grant', 'reset_back_off', 'grant', 'ask_to_end', 'reset_back_off', 'start'],
    ]);
  });

  it('that is discarded is killed, and the next run starts it without waiting', () => {
    const events = [wanted, ready, discarded, wanted, ended];
    expect(after(events)).toEqual([{ phase: 'starting', wanted: true }, ['start', 'grant', 'kill', 'start']]);
  });

  it('refuses the run that waits when it is stopped', () => {
    expect(after([wanted, stop])[1]).toEqual(['start', 'kill', 'refuse']);
    expect(after([wanted, ended, wanted, stop])).toEqual([OFF, ['start', 'refuse', 'refuse']]);
  });
});

/** What can happen to a process whose owner keeps the rules: one run at a time, and a run gives back what it got. */
const choices = fc.array(fc.nat(100), { maxLength: 200 });
const limits = fc.record({
  startTimeoutMs: fc.constant(1),
  idleTimeoutMs: fc.option(fc.constant(1)),
  maxRuns: fc.option(fc.integer({ min: 1, max: 3 })),
  preload: fc.boolean(),
});

/** The world around a lifecycle, which notes what the lifecycle must not do. */
class World {
  state: Lifecycle = OFF;
  alive = false;
  killed = false;
  run: 'none' | 'waits' | 'executes' = 'none';
  runsOfProcess = 0;
  readonly wrong: string[] = [];
  readonly #limits: Limits;

  constructor(given: Limits) {
    this.#limits = given;
  }

  possible(): Event[] {
    const { alive, killed, run, state } = this;
    return [
      stop,
      ...(run === 'none' ? [wanted] : []),
      ...(run === 'waits' ? [withdrawn] : []),
      ...(alive ? [ended] : []),
      ...(alive && !killed && state.phase === 'starting' ? [ready, notReady] : []),
      ...(run === 'executes' ? [released, discarded] : []),
      ...(timerOf(state) !== null && (state.phase !== 'idle' || this.#limits.idleTimeoutMs !== null)
        ? [timer]
        : []),
    ];
  }

  take(event: Event): void {
    if (event.type === 'wanted') this.run = 'waits';
    if (event.type === 'withdrawn' || event.type === 'released' || event.type === 'discarded')
      this.run = 'none';
    if (event.type === 'released') this.runsOfProcess += 1;
    if (event.type === 'ended') this.alive = false;
    // The run sees the end of its process.
    if (this.run === 'executes' && (event.type === 'ended' || event.type === 'stop')) this.run = 'none';
    const { state, effects } = step(this.state, event, this.#limits);
    this.state = state;
    for (const effect of effects) this.#execute(effect);
  }

  #execute({ type }: Effect<string>): void {
    this.#demand(this.alive === (type !== 'start') || type === 'refuse' || type === 'reset_back_off', type);
    if (type === 'start') [this.alive, this.killed, this.runsOfProcess] = [true, false, 0];
    if (type === 'kill') this.killed = true;
    if (type === 'grant') {
      this.#demand(!this.killed, 'grants a process that was killed');
      this.#demand(this.runsOfProcess < (this.#limits.maxRuns ?? Infinity), 'grants more than its runs');
    }
    if (type !== 'grant' && type !== 'refuse') return;
    this.#demand(this.run === 'waits', `${type} without a run that waits`);
    this.run = type === 'grant' ? 'executes' : 'none';
  }

  /** What holds between two events. */
  check(): void {
    const { state, run, alive, killed } = this;
    this.#demand(
      alive === (state.phase !== 'off' && state.phase !== 'backing_off'),
      `alive in ${state.phase}`,
    );
    this.#demand(run !== 'executes' || state.phase === 'busy', `a run executes in ${state.phase}`);
    if (run !== 'waits') return;
    this.#demand('wanted' in state && state.wanted, `a run that waits is forgotten in ${state.phase}`);
    // A start, a back-off and a request to end have a deadline; a killed process ends.
    this.#demand(timerOf(state) !== null || killed, `a run waits for nothing in ${state.phase}`);
  }

  #demand(holds: boolean, otherwise: string): void {
    if (!holds) this.wrong.push(otherwise);
  }
}

const live = (given: Limits, picks: readonly number[]): World => {
  const world = new World(given);
  for (const pick of picks) {
    const possible = world.possible();
    world.take(possible[pick % possible.length] ?? stop);
    world.check();
  }
  return world;
};

describe('any life of a resident process', () => {
  it('has one process at a time, no lost run, and always something that continues it', () => {
    fc.assert(
      fc.property(limits, choices, (given, picks) => {
        expect(live(given, picks).wrong).toEqual([]);
      }),
    );
  });

  it('comes to its end after a stop', () => {
    fc.assert(
      fc.property(limits, choices, (given, picks) => {
        const world = live(given, picks);
        world.take(stop);
        if (world.alive) world.take(ended);
        expect([world.state, world.run]).toEqual([OFF, 'none']);
      }),
    );
  });
});
