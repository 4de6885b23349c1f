/**
 * The life of a resident process, without the process: which situation follows which, and what to do then. It is for one slot, so at
 * most one run waits for it or uses it.
 */
export type Lifecycle =
  | { readonly phase: 'off' }
  /** It failed, and is not started before the timer. */
  | { readonly phase: 'backing_off'; readonly wanted: boolean }
  /** `wanted`: a run waits for it. */
  | { readonly phase: 'starting'; readonly wanted: boolean }
  /** `runs`: how many it has executed. */
  | { readonly phase: 'idle'; readonly runs: number }
  | { readonly phase: 'busy'; readonly runs: number }
  /** It was asked to end, or killed (`forced`). */
  | { readonly phase: 'ending'; readonly forced: boolean; readonly wanted: boolean; readonly next: Next };

/** What follows the end of the process when no run waits for it. */
type Next = 'off' | 'start' | 'back_off';

export type LifecycleEvent<Why> =
  /** It is started although no run wants it yet. */
  | { readonly type: 'preload' }
  | { readonly type: 'wanted' }
  /** The run that waits was cancelled. */
  | { readonly type: 'withdrawn' }
  | { readonly type: 'ready' }
  /** The process says that it cannot become ready. */
  | { readonly type: 'not_ready'; readonly why: Why }
  /** The run has ended, and the process is as before. */
  | { readonly type: 'released' }
  /** The run has ended, and the process must not execute another one. */
  | { readonly type: 'discarded' }
  | { readonly type: 'ended'; readonly why: Why }
  | { readonly type: 'timer'; readonly why: Why }
  /** The slot is for something else, or the executor stops. */
  | { readonly type: 'stop'; readonly why: Why };

export type Effect<Why> =
  | { readonly type: 'start' | 'ask_to_end' | 'kill' | 'reset_back_off' }
  /** The run that waits may use it. */
  | { readonly type: 'grant' }
  /** The run that waits cannot have it. */
  | { readonly type: 'refuse'; readonly why: Why };

export interface Limits {
  readonly startTimeoutMs: number;
  /** Null: it stays for ever. */
  readonly idleTimeoutMs: number | null;
  /** It is restarted after this number of runs; null: never. */
  readonly maxRuns: number | null;
  /** It is started with the executor, and again after a failure, without waiting for a run. */
  readonly preload: boolean;
}

export const OFF: Lifecycle = { phase: 'off' };

export interface Step<Why> {
  readonly state: Lifecycle;
  readonly effects: readonly Effect<Why>[];
}

/** An event that the situation does not know changes nothing: it is about a process that is gone. */
export const step = <Why>(state: Lifecycle, event: LifecycleEvent<Why>, limits: Limits): Step<Why> => {
  switch (state.phase) {
    case 'off':
      return event.type === 'preload' || event.type === 'wanted'
        ? start(event.type === 'wanted')
        : { state, effects: [] };
    case 'backing_off':
      return whileBackingOff(state.wanted, event, limits);
    case 'starting':
      return whileStarting(state.wanted, event);
    case 'idle':
      return whileIdle(state.runs, event);
    case 'busy':
      return whileBusy(state.runs, event, limits);
    case 'ending':
      return whileEnding(state, event);
  }
};

/** How long the timer of a situation is. It is armed when the situation begins. */
export type Timer = 'start' | 'idle' | 'back_off' | 'grace' | null;

export const timerOf = (state: Lifecycle): Timer => {
  switch (state.phase) {
    case 'backing_off':
      return 'back_off';
    case 'starting':
      return 'start';
    case 'idle':
      return 'idle';
    case 'ending':
      return state.forced ? null : 'grace';
    case 'off':
    case 'busy':
      return null;
  }
};

const unchanged = (state: Lifecycle): Step<never> => ({ state, effects: [] });

const start = (wanted: boolean): Step<never> => ({
  state: { phase: 'starting', wanted },
  effects: [{ type: 'start' }],
});

const kill = (next: Next): Step<never> => ({
  state: { phase: 'ending', forced: true, wanted: false, next },
  effects: [{ type: 'kill' }],
});

const askToEnd = (next: Next): Step<never> => ({
  state: { phase: 'ending', forced: false, wanted: false, next },
  effects: [{ type: 'ask_to_end' }],
});

const grant = (runs: number): Step<never> => ({
  state: { phase: 'busy', runs },
  effects: [{ type: 'grant' }],
});

const backOff = (wanted: boolean): Step<never> => unchanged({ phase: 'backing_off', wanted });

/** The run that waits for a start learns that it failed; the next one tries again. */
const refusing = <Why>({ state, effects }: Step<never>, wanted: boolean, why: Why): Step<Why> => ({
  state,
  effects: wanted ? [...effects, { type: 'refuse', why }] : effects,
});

const whileBackingOff = <Why>(
  wanted: boolean,
  event: LifecycleEvent<Why>,
  { preload }: Limits,
): Step<Why> => {
  if (event.type === 'wanted') return backOff(true);
  if (event.type === 'withdrawn') return backOff(false);
  if (event.type === 'timer') return wanted || preload ? start(wanted) : unchanged(OFF);
  if (event.type === 'stop') return refusing(unchanged(OFF), wanted, event.why);
  return backOff(wanted);
};

const whileStarting = <Why>(wanted: boolean, event: LifecycleEvent<Why>): Step<Why> => {
  switch (event.type) {
    case 'wanted':
      return unchanged({ phase: 'starting', wanted: true });
    // It becomes ready for the next run.
    case 'withdrawn':
      return unchanged({ phase: 'starting', wanted: false });
    case 'ready':
      return wanted ? grant(0) : unchanged({ phase: 'idle', runs: 0 });
    case 'not_ready':
    case 'timer':
      return refusing(kill('back_off'), wanted, event.why);
    case 'ended':
      return refusing(backOff(false), wanted, event.why);
    case 'stop':
      return refusing(kill('off'), wanted, event.why);
    case 'preload':
    case 'released':
    case 'discarded':
      return unchanged({ phase: 'starting', wanted });
  }
};

const whileIdle = <Why>(runs: number, event: LifecycleEvent<Why>): Step<Why> => {
  if (event.type === 'wanted') return grant(runs);
  if (event.type === 'timer' || event.type === 'stop') return askToEnd('off');
  return event.type === 'ended' ? backOff(false) : unchanged({ phase: 'idle', runs });
};

const whileBusy = <Why>(
  before: number,
  event: LifecycleEvent<Why>,
  { maxRuns, preload }: Limits,
): Step<Why> => {
  if (event.type === 'released') {
    const runs = before + 1;
    const { state, effects } =
      maxRuns !== null && runs >= maxRuns ? askToEnd('start') : unchanged({ phase: 'idle', runs });
    return { state, effects: [...effects, { type: 'reset_back_off' }] };
  }
  if (event.type === 'discarded') return kill(preload ? 'start' : 'off');
  if (event.type === 'stop') return kill('off');
  return event.type === 'ended' ? backOff(false) : unchanged({ phase: 'busy', runs: before });
};

const whileEnding = <Why>(
  state: Lifecycle & { readonly phase: 'ending' },
  event: LifecycleEvent<Why>,
): Step<Why> => {
  const { wanted, next } = state;
  switch (event.type) {
    case 'wanted':
      return unchanged({ ...state, wanted: true });
    case 'withdrawn':
      return unchanged({ ...state, wanted: false });
    case 'timer':
      return { state: { ...state, forced: true }, effects: [{ type: 'kill' }] };
    case 'stop':
      return refusing(unchanged({ ...state, wanted: false, next: 'off' }), wanted, event.why);
    case 'ended':
      if (next === 'back_off') return backOff(wanted);
      return wanted || next === 'start' ? start(wanted) : unchanged(OFF);
    case 'preload':
    case 'ready':
    case 'not_ready':
    case 'released':
    case 'discarded':
      return unchanged(state);
  }
};
