import type { Logger } from '@runledger/event-log/connect/observability';
import { Readable, Writable, type Duplex } from 'node:stream';
import type { Exceeded } from './program-limits.ts';
import type { KilledProcesses } from './stray-processes.ts';
import { type Ending, PIECE_BYTES, type MessageKind } from './supervisor-link.ts';

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

/** The standard streams of a program. */
interface StandardStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** What it writes to its standard input, which is a socket; null where that is relayed. */
  readonly control: Readable | null;
}

/** What a process needs of its supervisor. */
interface ProcessLink {
  send(kind: MessageKind, content?: Buffer | string): void;
  /** Whether the supervisor may go on sending. */
  flow(open: boolean): void;
  kill(): void;
}

/** How the executor has the streams of one process. */
export interface ProcessStreams extends StandardStreams {
  /** Takes output that the supervisor has sent. */
  output(stream: 'stdout' | 'stderr', content: Buffer): void;
  /** The supervisor sends no more, and nothing that follows reaches it. */
  release(): void;
}

/** By messages of the link: each program of a supervisor has streams of its own. */
export const relayedStreams = (link: ProcessLink): ProcessStreams => {
  const full = new Set<'stdout' | 'stderr'>();
  const openOutput = (name: 'stdout' | 'stderr'): Readable => {
    const mayGoOn = (): void => {
      full.delete(name);
      if (full.size === 0) link.flow(true);
    };
    return new Readable({
      read: mayGoOn,
      destroy: (error, done) => {
        // Nobody reads the rest, so this supervisor cannot take another program: a process holds the stream open.
        link.kill();
        mayGoOn();
        done(error);
      },
    });
  };
  const outputs = { stdout: openOutput('stdout'), stderr: openOutput('stderr') };
  return {
    ...outputs,
    control: null,
    stdin: new Writable({
      write: (content: Buffer, _encoding, done) => {
        for (let from = 0; from < content.length; from += PIECE_BYTES)
          link.send('input', content.subarray(from, from + PIECE_BYTES));
        done();
      },
      final: (done) => {
        link.send('input');
        done();
      },
    }),
    output: (name, content) => {
      if (outputs[name].destroyed || outputs[name].push(content)) return;
      full.add(name);
      link.flow(false);
    },
    release: () => {
      outputs.stdout.push(null);
      outputs.stderr.push(null);
    },
  };
};

/** By pipes to the only program of a supervisor. Its output ends with the last process that holds it open. */
export const directStreams = (stdin: Duplex, stdout: Duplex, stderr: Duplex): ProcessStreams => ({
  stdin,
  stdout,
  stderr,
  control: stdin,
  output: () => undefined,
  release: () => stdin.destroy(),
});

/** `forced` once SIGKILL had to be sent. */
export interface Cancellation extends Disposable {
  readonly forced: boolean;
}

/** When `signal` is aborted: SIGTERM at once, and SIGKILL to every process that is left after the grace period. */
export const cancelWithGrace = (
  process: { terminate(): void; kill(): void },
  signal: AbortSignal,
  graceMs: number,
): Cancellation => {
  let forced = false;
  let grace: NodeJS.Timeout | undefined;
  const cancel = (): void => {
    process.terminate();
    grace = setTimeout(() => {
      forced = true;
      process.kill();
    }, graceMs);
  };
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return {
    get forced() {
      return forced;
    },
    [Symbol.dispose]: () => {
      clearTimeout(grace);
      signal.removeEventListener('abort', cancel);
    },
  };
};

/** A PID namespace leaves no process behind; a process may leave its group by setsid or a double fork. */
export const logStrays = ({ strays: { killed, survivors } }: ProcessEnd, log: Logger, what: object): void => {
  if (killed.length > 0) {
    log.warn({ ...what, killed }, 'the program left processes outside its group; they are killed');
  }
  if (survivors.length > 0) {
    log.warn({ ...what, survivors }, 'processes of the program cannot be killed; the device may be busy');
  }
};
