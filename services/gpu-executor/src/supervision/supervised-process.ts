import type { ProcessLink, ProcessStreams, StandardStreams } from './process-streams.ts';
import type { Exceeded } from '../limits/program-limits.ts';
import type { KilledProcesses } from './stray-processes.ts';
import type { Ending } from './supervisor-link.ts';

export interface SupervisedProcess extends StandardStreams {
  /** Settles when the program and everything that was contained with it have ended. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** SIGTERM to everything that belongs to the run. */
  terminate(): void;
  /** SIGKILL to everything that belongs to the run. */
  kill(): void;
}

/** How a process ended, and what it left behind outside its process group. */
export type ProcessEnd = ProcessEnding & { readonly strays: KilledProcesses };

export type ProcessEnding =
  | Ending
  /** The supervisor ended without a report: it could not be started, or was killed. */
  | { readonly kind: 'unreported'; readonly why: string }
  /** It was killed for what it used of the machine. */
  | { readonly kind: 'exceeded'; readonly exceeded: Exceeded };

/** The executor's end of one process: its supervisor calls what a `SupervisedProcess` has not. */
export interface LinkedProcess extends SupervisedProcess, ProcessStreams {
  /** The group of the program, once it is known. */
  group: number | null;
  end(how: ProcessEnd): void;
}

export const linkedProcess = (
  link: ProcessLink,
  openStreams: (link: ProcessLink) => ProcessStreams,
): LinkedProcess => {
  let linked = true;
  const whileLinked: ProcessLink = {
    send: (kind, content) => void (linked && link.send(kind, content)),
    flow: (open) => void (linked && link.flow(open)),
    kill: () => void (linked && link.kill()),
  };
  const streams = openStreams(whileLinked);
  const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
  return {
    ...streams,
    ended: promise,
    terminate: () => whileLinked.send('terminate'),
    kill: () => whileLinked.kill(),
    group: null,
    end: resolve,
    release: () => {
      linked = false;
      streams.release();
    },
  };
};
