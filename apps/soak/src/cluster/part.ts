import { setTimeout as pause } from 'node:timers/promises';
import type { FaultKind } from '../faults/fault-schedule.ts';
import type { Clock } from './clock.ts';
import type { EndKind, PartRole, Stopped, UnexpectedEnd, Outage, FaultRecords } from './outages.ts';

interface Ended {
  readonly how: string;
  readonly manner: EndKind;
}

/** A process of this machine, whatever it is. */
export interface Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Settles when it works, or has ended. */
  readonly ready: Promise<void>;
  /** Does nothing when the process has ended already. */
  readonly kill: (signal: NodeJS.Signals) => void;
  /** SIGTERM, and after a long while SIGKILL. */
  readonly stop: () => Promise<void>;
}

/** A process that is struck, and started again. */
export interface Part extends AsyncDisposable {
  readonly name: string;
  readonly role: PartRole;
  /** Undefined while it is down. */
  readonly pid: () => number | undefined;
  /** Settles when it is back and works. */
  readonly inject: (kind: FaultKind, forMs: number) => Promise<void>;
}

export interface Journal extends FaultRecords {
  readonly outages: Outage[];
  readonly stops: Stopped[];
  readonly unexpectedEnds: UnexpectedEnd[];
}

const AGAIN_AFTER_MS = 500;

export interface PartSpec {
  readonly name: string;
  readonly role: PartRole;
  readonly start: () => Promise<Running>;
  readonly journal: Journal;
  readonly now: Clock;
}

export const startPart = async ({ name, role, start, journal, now }: PartSpec): Promise<Part> => {
  let running: Running | undefined;
  let starting: Promise<unknown> = Promise.resolve();
  let closing = false;

  const begin = async (): Promise<void> => {
    const begins = start();
    starting = begins.catch(() => undefined);
    const begun = await begins;
    running = begun;
    void begun.ended.then(async ({ how }) => {
      // Whoever strikes takes it out before.
      if (running !== begun || closing) return;
      running = undefined;
      journal.unexpectedEnds.push({ part: name, at: now(), how });
      await pause(AGAIN_AFTER_MS);
      if (!closing) await begin();
    });
    await begun.ready;
  };

  const end = async (struck: Running, kind: 'kill' | 'stop'): Promise<void> => {
    running = undefined;
    const at = now();
    if (kind === 'kill') struck.kill('SIGKILL');
    else await struck.stop();
    const { how, manner } = await struck.ended;
    if (kind === 'stop')
      journal.stops.push({ part: name, role, at, tookMs: now() - at, how, endKind: manner });
  };

  const strike = async (kind: FaultKind, forMs: number): Promise<void> => {
    const struck = running;
    if (struck === undefined || closing) return;
    const at = journal.outages.push({ part: name, role, kind, from: now(), to: undefined }) - 1;
    if (kind === 'pause') {
      struck.kill('SIGSTOP');
      await pause(forMs);
      if (running === struck) struck.kill('SIGCONT');
    } else {
      await end(struck, kind);
      await pause(forMs);
      if (!closing) await begin();
    }
    const trouble = journal.outages[at];
    if (trouble) journal.outages[at] = { ...trouble, to: now() };
  };

  await begin();
  return {
    name,
    role,
    pid: () => running?.pid,
    inject: strike,
    [Symbol.asyncDispose]: async () => {
      closing = true;
      await starting;
      const last = running;
      if (last === undefined) return;
      // Nobody needs it any more, and a paused process takes no other signal.
      last.kill('SIGKILL');
      await last.ended;
    },
  };
};
