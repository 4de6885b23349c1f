import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { cutLines, type Line, type OnDrawing } from './cut-lines.ts';
import { printable } from '../../attempt/log-buffer.decide.ts';

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

interface WrittenStreams {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly control?: Readable | null;
}

/** Reads what a process writes, at a bounded rate. */
export const readStreams = (
  { stdout, stderr, control }: WrittenStreams,
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

export interface LineReader {
  readonly take: (line: Line) => void;
  /** Gets what is drawn with carriage returns, as a bar of progress is, before its line ends. */
  readonly draw: (drawing: string) => void;
  readonly onDrawing?: OnDrawing;
}

/** Reads a stream of lines, cut at `limit` bytes. */
export const readLines = (
  limit: number,
  { take, draw, onDrawing = () => false }: LineReader,
): StreamReader => {
  const cutter = cutLines(limit, (drawing) => {
    draw(drawing.text);
    return onDrawing(drawing);
  });
  const takeLine = (line: Line): void => {
    if (line.drawn) draw(line.text);
    take(line);
  };
  return {
    chunk: (chunk) => {
      cutter.push(chunk).forEach(takeLine);
      const drawing = cutter.drawing();
      if (drawing !== '') draw(drawing);
    },
    end: () => cutter.end().forEach(takeLine),
  };
};

/** More than an error shows of it, so that what is hidden there is whole. */
export const STDERR_TAIL_BYTES = 4 * 1024;

/** Keeps the end of the standard error of a program. */
export interface StderrTail {
  push(chunk: Buffer): void;
  text(): string;
}

export const stderrTail = (limit: number): StderrTail => {
  // As long again as what is kept, which moves to the front only when nothing more fits behind it: a flood comes line by line.
  const written = Buffer.alloc(2 * limit);
  let length = 0;
  let begun = false;
  return {
    push: (chunk) => {
      begun ||= length + chunk.length > limit;
      const added = chunk.subarray(-limit);
      if (length + added.length > written.length) {
        written.copyWithin(0, length - limit, length);
        length = limit;
      }
      written.set(added, length);
      length += added.length;
    },
    text: () => {
      const tail = written.subarray(Math.max(0, length - limit), length);
      // The first character may be cut: its remaining bytes begin with the bits 10.
      const whole = begun ? tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)) : tail;
      return withinBytes(printable(whole.toString('utf8')), limit).trim();
    },
  };
};

/** Each invalid byte became three bytes, so the text may have grown. */
const withinBytes = (text: string, limit: number): string => {
  let bytes = Buffer.byteLength(text);
  let from = 0;
  for (const character of text) {
    if (bytes <= limit) break;
    bytes -= Buffer.byteLength(character);
    from += character.length;
  }
  return text.slice(from);
};
