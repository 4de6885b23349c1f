import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '@runledger/resilience/errors';
import { now } from './clock.ts';
import type {
  EndKind,
  FaultKind,
  FaultRecords,
  MissedFault,
  Outage,
  PartRole,
  Stopped,
  StoreFault,
  UnexpectedEnd,
} from './outages.ts';

interface Ended {
  readonly how: string;
  readonly endKind: EndKind;
}

/**
 * Data on disk that faults take away while the process is down. `restore` puts the copy of its last call back; its first call only
 * makes one. Resolves with whether the data changed.
 */
export type PartStore = Partial<Readonly<Record<StoreFault, () => Promise<boolean>>>>;

/** A disk of its own. */
export interface PartDisk {
  /** Resolves with whether the process could not write any more; it may have ended. */
  readonly fill: (ended: Promise<unknown>) => Promise<boolean>;
  readonly freeSpace: () => void;
}

/** A process on this machine. */
export interface RunningProcess {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Settles when it works, or has ended. @throws Error that says what it lacks, when it takes too long */
  readonly untilReady: () => Promise<void>;
  /** Sends a signal. Does nothing if the process has ended. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** SIGTERM, and after a long while SIGKILL. */
  readonly stop: () => Promise<void>;
}

/** A part of the cluster: a process that faults hit and that starts again. */
export interface Part extends AsyncDisposable {
  readonly name: string;
  readonly role: PartRole;
  /** Whether its disk can be filled. */
  readonly hasDisk: boolean;
  /** Undefined while it is down. */
  readonly pid: () => number | undefined;
  /** Settles when the part works again, with whether the fault changed anything. */
  readonly inject: (kind: FaultKind, forMs: number) => Promise<boolean>;
}

export interface FaultJournal extends FaultRecords {
  readonly outages: Outage[];
  readonly missed: MissedFault[];
  readonly stops: Stopped[];
  readonly unexpectedEnds: UnexpectedEnd[];
}

const RESTART_AFTER_MS = 500;

export interface PartOptions {
  readonly name: string;
  readonly role: PartRole;
  readonly start: () => Promise<RunningProcess>;
  /** Left out for a part that has no store of its own, or one that must never be lost. */
  readonly store?: PartStore;
  readonly disk?: PartDisk;
  readonly journal: FaultJournal;
}

interface PartState {
  running: RunningProcess | undefined;
  /** Settles with the latest start, whether it succeeds or not. */
  starting: Promise<unknown>;
  closing: boolean;
}

export const startPart = async (options: PartOptions): Promise<Part> => {
  const state: PartState = { running: undefined, starting: Promise.resolve(), closing: false };
  await startProcess(options, state);
  return {
    name: options.name,
    role: options.role,
    hasDisk: options.disk !== undefined,
    pid: () => state.running?.pid,
    inject: (kind, forMs) => injectFault(options, state, { kind, forMs }),
    [Symbol.asyncDispose]: async () => {
      state.closing = true;
      await state.starting;
      const last = state.running;
      if (last === undefined) return;
      // A paused process reacts to no other signal.
      last.kill('SIGKILL');
      await last.ended;
    },
  };
};

const startProcess = async (options: PartOptions, state: PartState): Promise<void> => {
  const { name, start, journal } = options;
  const begins = start();
  state.starting = begins.catch(() => undefined);
  const running = await begins;
  state.running = running;
  void running.ended.then(async ({ how }) => {
    // A fault clears `running` before it ends the process.
    if (state.running !== running || state.closing) return;
    state.running = undefined;
    journal.unexpectedEnds.push({ part: name, at: now(), how });
    await pause(RESTART_AFTER_MS);
    if (!state.closing) await startProcess(options, state);
  });
  await running.untilReady();
};

interface InjectedFault {
  readonly kind: FaultKind;
  readonly forMs: number;
}

const injectFault = async (
  options: PartOptions,
  state: PartState,
  fault: InjectedFault,
): Promise<boolean> => {
  const { name, role, journal } = options;
  // A busy machine starts it later than the schedule thinks, and too few faults take data to lose one.
  if (fault.kind === 'empty' || fault.kind === 'restore') await untilRunning(state);
  const { running } = state;
  if (state.closing) return false;
  if (running === undefined) {
    journal.missed.push({ part: name, kind: fault.kind });
    return false;
  }
  const outage: Outage = { part: name, role, kind: fault.kind, from: now(), to: undefined };
  const index = journal.outages.push(outage) - 1;
  try {
    const changed = await (fault.kind === 'pause'
      ? pauseProcess(state, running, fault.forMs)
      : restartProcess(options, state, running, fault));
    journal.outages[index] = { ...outage, to: now(), ...(changed ? {} : { changedNothing: true }) };
    return changed;
  } catch (error) {
    const failure = messageOf(error);
    journal.outages[index] = { ...outage, failure };
    return true;
  }
};

const LOOK_EVERY_MS = 100;

const untilRunning = async (state: PartState): Promise<void> => {
  while (state.running === undefined && !state.closing) await pause(LOOK_EVERY_MS);
};

const pauseProcess = async (state: PartState, running: RunningProcess, forMs: number): Promise<boolean> => {
  running.kill('SIGSTOP');
  await pause(forMs);
  if (state.running === running) {
    running.kill('SIGCONT');
    await running.untilReady();
  }
  return true;
};

const restartProcess = async (
  options: PartOptions,
  state: PartState,
  running: RunningProcess,
  { kind, forMs }: InjectedFault,
): Promise<boolean> => {
  state.running = undefined;
  if (kind === 'fill') {
    const changed = await fillDisk(options, running, forMs);
    if (!state.closing) await startProcess(options, state);
    return changed;
  }
  await endProcess(options, running, kind === 'stop' ? 'stop' : 'kill');
  const changed = kind === 'empty' || kind === 'restore' ? await options.store?.[kind]?.() : true;
  await pause(forMs);
  if (!state.closing) await startProcess(options, state);
  return changed ?? false;
};

/** What could not write does not write again by itself, so it is stopped in order when there is room. */
const fillDisk = async (options: PartOptions, running: RunningProcess, forMs: number): Promise<boolean> => {
  const wasFull = (await options.disk?.fill(running.ended)) ?? false;
  await pause(forMs);
  options.disk?.freeSpace();
  await endProcess(options, running, 'stop');
  return wasFull;
};

const endProcess = async (
  { name, role, journal }: PartOptions,
  running: RunningProcess,
  kind: 'kill' | 'stop',
): Promise<void> => {
  const at = now();
  if (kind === 'kill') running.kill('SIGKILL');
  else await running.stop();
  const { how, endKind } = await running.ended;
  if (kind === 'stop') journal.stops.push({ part: name, role, at, tookMs: now() - at, how, endKind });
};
