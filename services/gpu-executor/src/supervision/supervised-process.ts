import { Readable, Writable } from 'node:stream';
import type { KilledProcesses } from './stray-processes.ts';
import { PIECE_BYTES, type Ending, type MessageKind } from './supervisor-link.ts';

export interface SupervisedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
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
  | { readonly kind: 'unreported'; readonly why: string };

/** What a process needs of its supervisor. */
export interface ProcessLink {
  send(kind: MessageKind, content?: Buffer | string): void;
  /** Whether the supervisor may go on sending. */
  flow(open: boolean): void;
  kill(): void;
}

/** The executor's end of one process: its supervisor calls the second half of the members. */
export interface LinkedProcess extends SupervisedProcess {
  /** The group of the program, once it is known. */
  group: number | null;
  output(stream: 'stdout' | 'stderr', content: Buffer): void;
  end(how: ProcessEnd): void;
  /** The output has ended, and nothing that follows reaches the supervisor. */
  release(): void;
}

export const linkedProcess = (link: ProcessLink): LinkedProcess => {
  let linked = true;
  const full = new Set<'stdout' | 'stderr'>();
  const whileLinked = (action: () => void): void => void (linked && action());

  const openOutput = (name: 'stdout' | 'stderr'): Readable => {
    const mayGoOn = (): void => {
      full.delete(name);
      if (full.size === 0) whileLinked(() => link.flow(true));
    };
    return new Readable({
      read: mayGoOn,
      destroy: (error, done) => {
        // Nobody reads the rest, so this supervisor cannot take another program: a process holds the stream open.
        whileLinked(() => link.kill());
        mayGoOn();
        done(error);
      },
    });
  };

  const streams = { stdout: openOutput('stdout'), stderr: openOutput('stderr') };
  const { promise, resolve } = Promise.withResolvers<ProcessEnd>();

  return {
    ...streams,
    stdin: new Writable({
      write: (content: Buffer, _encoding, done) => {
        for (let from = 0; from < content.length; from += PIECE_BYTES)
          whileLinked(() => link.send('input', content.subarray(from, from + PIECE_BYTES)));
        done();
      },
      final: (done) => {
        whileLinked(() => link.send('input'));
        done();
      },
    }),
    ended: promise,
    terminate: () => whileLinked(() => link.send('terminate')),
    kill: () => whileLinked(() => link.kill()),
    group: null,
    output: (name, content) => {
      if (streams[name].destroyed || streams[name].push(content)) return;
      full.add(name);
      link.flow(false);
    },
    end: resolve,
    release: () => {
      linked = false;
      streams.stdout.push(null);
      streams.stderr.push(null);
    },
  };
};
