import { Readable, Writable, type Duplex } from 'node:stream';
import { PIECE_BYTES, type MessageKind } from './supervisor-link.ts';

/** The standard streams of a program. */
export interface StandardStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** What it writes to its standard input, which is a socket; null where that is relayed. */
  readonly control: Readable | null;
}

/** What a process needs of its supervisor. */
export interface ProcessLink {
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
