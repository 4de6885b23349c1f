import type { Readable } from 'node:stream';
import { within } from '@runledger/resilience/within';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';

export interface StreamReader {
  chunk(chunk: Buffer): void;
  end(): void;
}

/** About 80 MB a second: a program that floods its output must not delay the heartbeats of the executor. */
const READ_RATE = { bytes: 4 * 1024 * 1024, pauseMs: 50 };
/** When all writers have ended, the rest of a pipe is read at once. A pipe that stays open has a writer outside the group. */
const DRAIN_WITHIN_MS = 5_000;

export interface ReadStreams {
  /** Resolves when both streams are read to their end. Call it when the process has ended. */
  drained(): Promise<void>;
}

/** Reads what a process writes, at a bounded rate. */
export const readStreams = (
  { stdout, stderr }: Pick<SupervisedProcess, 'stdout' | 'stderr'>,
  readers: { readonly stdout: StreamReader; readonly stderr: StreamReader },
): ReadStreams => {
  const ended = [read(stdout, readers.stdout), read(stderr, readers.stderr)];
  return {
    drained: async () => {
      await within(DRAIN_WITHIN_MS, Promise.all(ended), () => undefined);
      // A process without a mark holds the pipe open. It is not waited for.
      stdout.destroy();
      stderr.destroy();
      await Promise.all(ended);
    },
  };
};

/** Resolves when the stream has ended or was destroyed. */
const read = async (stream: Readable, reader: StreamReader): Promise<void> => {
  let taken = 0;
  let resume: NodeJS.Timeout | undefined;
  stream.on('data', (chunk: Buffer) => {
    reader.chunk(chunk);
    taken += chunk.length;
    if (taken < READ_RATE.bytes) return;
    taken = 0;
    stream.pause();
    resume = setTimeout(() => stream.resume(), READ_RATE.pauseMs);
  });
  await new Promise((resolve) => stream.once('close', resolve));
  clearTimeout(resume);
  reader.end();
};
