import type { StateOfVersion } from '@runledger/contracts/requests/ready-slots';
import { backoff, type Backoff } from '@runledger/resilience/backoff';
import { messageOf } from '@runledger/resilience/errors';
import type { GpuSlot } from '../gpu-slots.ts';
import { NO_STRAYS } from '../supervision/supervisor-link.ts';
import {
  OFF,
  step,
  timerOf,
  type Effect,
  type Lifecycle,
  type LifecycleEvent,
  type Timer,
} from './lifecycle.decide.ts';
import {
  type Acquired,
  type Lease,
  type ResidentConnection,
  type ResidentSpec,
  type StartFailure,
  startProcess,
  type ResidentHost,
  type StartedProcess,
} from './start-process.ts';

/** One process for one slot. It is started when a run wants it, and again when it has ended. */
export interface ResidentProcess<Connection> {
  /** That of its spec. */
  readonly name: string;
  /** Starts it although no run wants it yet. */
  preload(): void;
  /** Starts it, unless it runs, and has it wait for a run until then (`performance.now()`), whatever its idle timeout is. */
  keep(untilMs: number): void;
  /** How far it is; `off` when it does not run, and no start of it failed last. */
  readiness(): Readiness<Connection>;
  isReady(): boolean;
  /** Whether it is ready for a run, or executes one. */
  isLoaded(): boolean;
  /** Whether it has loaded other code than there is now. */
  isOutdated(): Promise<boolean>;
  /** Whether it may have runs of several organisations. */
  readonly isShared: boolean;
  /** It has runs of this organisation, and of no other one. */
  adopt(org_id: string): void;
  /** Waits until it is ready for a run of this organisation. At most one run at a time. */
  acquire(org_id: string, signal: AbortSignal): Promise<Acquired<Connection>>;
  /** Ends it. Resolves when nothing of it is left. It can be acquired again. */
  stop(): Promise<void>;
}

export type Readiness<Connection> =
  | { readonly state: 'off' | 'loading' | 'loaded' }
  | { readonly state: 'failed'; readonly why: StartFailure; readonly connection: Connection | null };

/** For who asked for it. `why` is a sentence. A process that is off is about to be started. */
export const stateOfKept = <Connection>(
  found: Readiness<Connection> | { readonly state: 'occupied' },
  why: (failure: StartFailure, connection: Connection | null) => string,
): StateOfVersion => {
  switch (found.state) {
    case 'failed':
      return { state: 'failed', why: why(found.why, found.connection) };
    case 'off':
      return { state: 'loading', why: null };
    case 'loading':
    case 'loaded':
    case 'occupied':
      return { state: found.state, why: null };
  }
};

/** Runs that follow each other faster do not look at the code again. */
const LOOKED_MS = 1_000;

/** How long it stays ended after it failed, longer from one failure to the next, until a run succeeds in using it. */
const BACK_OFF = { firstMs: 1_000, longestMs: 60_000 };

interface Owned {
  /** Whose cache it gets when it is started; null for that of nobody. */
  readonly ownerOf: () => string | null;
  /** Called after each change of its situation. */
  readonly onChange: () => void;
}

interface Open<Connection extends ResidentConnection> extends Owned {
  readonly spec: ResidentSpec<Connection>;
  readonly slot: GpuSlot;
  readonly host: ResidentHost;
  readonly delays: Backoff;
  state: Lifecycle;
  started: StartedProcess<Connection> | null;
  /** The run that waits. */
  waiting: Waiting<Connection> | null;
  timer: NodeJS.Timeout | undefined;
  /** It waits for a run until then at least. */
  keptUntilMs: number;
  /** Of its last start, unless that went well. */
  failed: Extract<Readiness<Connection>, { readonly state: 'failed' }> | null;
  whenOff: PromiseWithResolvers<void>;
}

interface Waiting<Connection> {
  readonly org_id: string;
  readonly since: number;
  readonly isWarm: boolean;
  readonly resolve: (acquired: Acquired<Connection>) => void;
}

export const openResidentProcess = <Connection extends ResidentConnection>(
  spec: ResidentSpec<Connection>,
  slot: GpuSlot,
  host: ResidentHost,
  { ownerOf, onChange }: Owned,
): ResidentProcess<Connection> => {
  const open: Open<Connection> = {
    spec,
    slot,
    host,
    ownerOf,
    onChange,
    delays: backoff(BACK_OFF),
    state: OFF,
    started: null,
    waiting: null,
    timer: undefined,
    keptUntilMs: 0,
    failed: null,
    whenOff: Promise.withResolvers(),
  };
  return {
    name: spec.name,
    preload: () => apply(open, { type: 'preload' }),
    keep: (untilMs) => {
      open.keptUntilMs = Math.max(open.keptUntilMs, untilMs);
      apply(open, { type: 'preload' });
    },
    readiness: () => readinessOf(open),
    isReady: () => open.state.phase === 'idle',
    isShared: spec.shared,
    isLoaded: () => open.state.phase === 'idle' || open.state.phase === 'busy',
    isOutdated: async () => {
      const { started } = open;
      const now = started && (await spec.code?.(LOOKED_MS));
      return typeof now === 'string' && now !== (await started?.code);
    },
    adopt: (org_id) => open.started?.sandbox.adopt(org_id),
    acquire: (org_id, signal) => acquire(open, org_id, signal),
    stop: async () => {
      apply(open, { type: 'stop', why: { kind: 'stopped' } });
      if (open.state.phase !== 'off') await open.whenOff.promise;
    },
  };
};

const readinessOf = <Connection extends ResidentConnection>({
  state: { phase },
  failed,
}: Open<Connection>): Readiness<Connection> => {
  switch (phase) {
    case 'idle':
    case 'busy':
      return { state: 'loaded' };
    case 'starting':
      return { state: 'loading' };
    case 'off':
    case 'backing_off':
    case 'ending':
      return failed ?? { state: 'off' };
  }
};

const acquire = async <Connection extends ResidentConnection>(
  open: Open<Connection>,
  org_id: string,
  signal: AbortSignal,
): Promise<Acquired<Connection>> => {
  if (signal.aborted) return { kind: 'cancelled' };
  const { promise, resolve } = Promise.withResolvers<Acquired<Connection>>();
  open.waiting = { org_id, since: performance.now(), isWarm: open.state.phase === 'idle', resolve };
  const withdraw = (): void => {
    apply(open, { type: 'withdrawn' });
    answer(open, { kind: 'cancelled' });
  };
  signal.addEventListener('abort', withdraw, { once: true });
  apply(open, { type: 'wanted' });
  const acquired = await promise;
  signal.removeEventListener('abort', withdraw);
  return acquired;
};

const apply = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  event: LifecycleEvent<StartFailure>,
): void => {
  const before = timerOf(open.state);
  noteFailure(open, event);
  const { state, effects } = step(open.state, event, open.spec.limits);
  open.state = state;
  if (timerOf(state) !== before) arm(open, timerOf(state));
  for (const effect of effects) execute(open, effect);
  open.onChange();
  if (state.phase !== 'off') return;
  open.whenOff.resolve();
  open.whenOff = Promise.withResolvers();
};

const noteFailure = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  event: LifecycleEvent<StartFailure>,
): void => {
  if (event.type === 'ready') open.failed = null;
  if (open.state.phase !== 'starting') return;
  if (event.type === 'ended' || event.type === 'not_ready' || event.type === 'timer')
    open.failed = { state: 'failed', why: event.why, connection: open.started?.connection ?? null };
};

const arm = <Connection extends ResidentConnection>(open: Open<Connection>, timer: Timer): void => {
  clearTimeout(open.timer);
  const ms = durationOf(open, timer);
  if (ms === null) return;
  open.timer = setTimeout(() => {
    if (timer === 'idle' && performance.now() < open.keptUntilMs) arm(open, timer);
    else apply(open, { type: 'timer', why: { kind: 'timeout', ms } });
  }, ms);
};

const durationOf = <Connection extends ResidentConnection>(
  { spec: { limits }, host, delays }: Open<Connection>,
  timer: Timer,
): number | null => {
  switch (timer) {
    case 'start':
      return limits.startTimeoutMs;
    case 'idle':
      return limits.idleTimeoutMs;
    case 'back_off':
      return delays.next();
    case 'grace':
      return host.stopGraceMs;
    case null:
      return null;
  }
};

const execute = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  effect: Effect<StartFailure>,
): void => {
  const { spec, started } = open;
  switch (effect.type) {
    case 'start':
      return start(open);
    case 'ask_to_end':
      return started === null ? undefined : spec.askToEnd(started.process);
    case 'kill':
      return started?.process.kill();
    case 'reset_back_off':
      return open.delays.reset();
    case 'grant':
      return started === null ? undefined : grant(open, started);
    case 'refuse':
      return answer(open, { kind: 'refused', why: effect.why, connection: started?.connection ?? null });
  }
};

const grant = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  started: StartedProcess<Connection>,
): void => {
  if (open.waiting === null) return;
  started.organisations.add(open.waiting.org_id);
  answer(open, { kind: 'ready', lease: leaseOf(open, started, open.waiting) });
};

const answer = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  acquired: Acquired<Connection>,
): void => {
  open.waiting?.resolve(acquired);
  open.waiting = null;
};

const start = <Connection extends ResidentConnection>(open: Open<Connection>): void => {
  const { spec, slot, host } = open;
  const what = { resident: spec.name, slot: slot.index };
  try {
    open.started = startProcess(spec, slot, host, open.ownerOf());
    host.log.info(what, 'a resident process is started');
    void follow(open, open.started);
  } catch (err) {
    open.started = null;
    host.log.warn({ ...what, err, command: spec.command }, 'a resident process cannot be started');
    const code = messageOf(err);
    const why: StartFailure = { kind: 'ended', end: { kind: 'not_started', code, strays: NO_STRAYS } };
    queueMicrotask(() => apply(open, { type: 'ended', why }));
  }
};

const follow = async <Connection extends ResidentConnection>(
  open: Open<Connection>,
  started: StartedProcess<Connection>,
): Promise<void> => {
  const { spec, slot, host } = open;
  const what = { resident: spec.name, slot: slot.index };
  void started.connection.ready.then((why) => {
    if (open.started !== started) return;
    const seconds = (performance.now() - started.startedAt) / 1_000;
    if (why === null && open.state.phase === 'starting')
      host.log.info({ ...what, seconds }, 'a resident process is ready');
    apply(open, why === null ? { type: 'ready' } : { type: 'not_ready', why: { kind: 'not_ready', why } });
  });
  const end = await started.gone;
  const { phase } = open.state;
  const isExpected = phase === 'ending';
  const { strays: _, ...how } = end;
  host.log[isExpected ? 'info' : 'warn']({ ...what, phase, ...how }, 'a resident process has ended');
  apply(open, { type: 'ended', why: { kind: 'ended', end } });
  if (open.started === started) open.started = null;
};

const leaseOf = <Connection extends ResidentConnection>(
  open: Open<Connection>,
  { connection, startedAt, code, organisations, gone }: StartedProcess<Connection>,
  { since, isWarm }: Waiting<Connection>,
): Lease<Connection> => {
  return {
    connection,
    isMixed: organisations.size > 1,
    code,
    loadingMs: isWarm ? 0 : performance.now() - Math.max(since, startedAt),
    ended: gone,
    release: () => apply(open, { type: 'released' }),
    discard: async () => {
      apply(open, { type: 'discarded' });
      await gone;
    },
  };
};
