import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';

export interface StreamReader {
  chunk(chunk: Buffer): void;
  end(): void;
}

/** How long the end of a run waits for what was written before it. */
const QUIET_WITHIN_MS = 2_000;
/** About 80 MB a second: a program that floods its output must not delay the heartbeats of the executor. */
const READ_RATE = { bytes: 4 * 1024 * 1024, pauseMs: 50 };
/** When all writers have ended, the rest of a pipe is read at once. A pipe that stays open has a writer outside the group. */
const DRAIN_WITHIN_MS = 5_000;

export interface ReadStreams {
  /** Resolves when everything is read that is written by now, or after two seconds of a stream without a pause. */
  quiet(): Promise<void>;
  /** Resolves when both streams are read to their end. Call it when the process has ended. */
  drained(): Promise<void>;
}

export interface StreamReaders {
  readonly stdout: StreamReader;
  readonly stderr: StreamReader;
  readonly control?: StreamReader;
}

/** Reads what a process writes, at a bounded rate. */
export const readStreams = (
  {
    stdout,
    stderr,
    control,
  }: Pick<SupervisedProcess, 'stdout' | 'stderr'> & Partial<Pick<SupervisedProcess, 'control'>>,
  readers: StreamReaders,
): ReadStreams => {
  const reading = { chunks: 0, paused: 0 };
  const streams: [Readable, StreamReader][] = [
    [stdout, readers.stdout],
    [stderr, readers.stderr],
  ];
  if (control && readers.control) streams.push([control, readers.control]);
  const ended = streams.map(([stream, reader]) => read(stream, reader, reading));
  return {
    quiet: async () => {
      const until = performance.now() + QUIET_WITHIN_MS;
      let before: number;
      do {
        before = reading.chunks;
        // Between two of these the event loop asks the kernel for all that is there.
        for (let turns = 0; turns < 2; turns += 1) await nextTurn();
        if (reading.paused > 0) await sleep(READ_RATE.pauseMs);
      } while ((reading.chunks !== before || reading.paused > 0) && performance.now() < until);
    },
    drained: async () => {
      await within(DRAIN_WITHIN_MS, Promise.all(ended), () => undefined);
      // A process without a mark holds the pipe open. It is not waited for.
      for (const [stream] of streams) stream.destroy();
      await Promise.all(ended);
    },
  };
};

/** Resolves when the stream has ended or was destroyed. */
const read = async (
  stream: Readable,
  reader: StreamReader,
  reading: { chunks: number; paused: number },
): Promise<void> => {
  let taken = 0;
  let resume: NodeJS.Timeout | undefined;
  const goOn = (): void => {
    if (resume !== undefined) reading.paused -= 1;
    clearTimeout(resume);
    resume = undefined;
  };
  stream.on('data', (chunk: Buffer) => {
    reading.chunks += 1;
    reader.chunk(chunk);
    taken += chunk.length;
    if (taken < READ_RATE.bytes || resume !== undefined) return;
    taken = 0;
    stream.pause();
    reading.paused += 1;
    resume = setTimeout(() => {
      goOn();
      stream.resume();
    }, READ_RATE.pauseMs);
  });
  await new Promise((resolve) => stream.once('close', resolve));
  goOn();
  reader.end();
};
