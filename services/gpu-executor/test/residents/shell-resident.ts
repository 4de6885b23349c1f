import type { Limits } from '../../src/residents/lifecycle.decide.ts';
import type { ResidentConnection, ResidentSpec } from '../../src/residents/start-process.ts';

export interface Shell extends ResidentConnection {
  /** Writes one line to it. */
  say(line: string): void;
  /** What it wrote after `ready`. */
  readonly lines: readonly string[];
}

/** A shell script that writes `ready` when it is. */
export const shellResident = (
  name: string,
  script: string,
  limits: Partial<Limits> = {},
  writable: readonly string[] = [],
): ResidentSpec<Shell> => ({
  name,
  command: '/bin/sh',
  args: ['-c', script],
  env: {},
  view: () => ({ readable: [], writable, scratch: [], network: 'outgoing', cards: false, resources: {} }),
  shared: false,
  limits: { startTimeoutMs: 30_000, idleTimeoutMs: null, maxRuns: null, preload: false, ...limits },
  connect: (process) => {
    const lines: string[] = [];
    const { promise, resolve } = Promise.withResolvers<string | null>();
    process.stderr.resume();
    process.stdout.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trim().split('\n')) {
        if (line === 'ready') resolve(null);
        else if (line.startsWith('no: ')) resolve(line.slice(4));
        else lines.push(line);
      }
    });
    return { ready: promise, lines, say: (line) => void process.stdin.write(`${line}\n`) };
  },
  askToEnd: (process) => void process.stdin.end(),
});

/** Echoes what it reads with its own process id. */
export const ECHO = 'echo ready; while read -r line; do echo "$line from $$"; done';
