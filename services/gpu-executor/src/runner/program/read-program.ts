import type { Readable } from 'node:stream';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { within } from '@runledger/resilience/within';
import type { ProgressReport, RunData } from '../runner.ts';
import { cutLines } from './cut-lines.ts';
import { stderrTail } from './stderr-tail.ts';
import { readMessage } from './program-messages.ts';
import { collectMessages } from './collect-messages.ts';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';

export interface ProgramOutput {
  /** Resolves when both streams are read to their end. */
  drained(): Promise<void>;
  data(): RunData;
  lost(): string | null;
  stderrTail(): string;
}

const MAX_LINE_BYTES = 64 * 1024;
/** With the sentence before it, it fits into an error message, unless much of it is not ASCII. */
const STDERR_TAIL_BYTES = 1536;
/** How much of a run's other output goes to the executor's own log, at level debug. */
const MAX_LOGGED_BYTES = 64 * 1024;
const MAX_LOGGED_LINE = 1_000;
/** About 80 MB a second: a program that floods its output must not delay the heartbeats of the executor. */
const READ_RATE = { bytes: 4 * 1024 * 1024, pauseMs: 50 };
/** When all writers have ended, the rest of a pipe is read at once. A pipe that stays open has a writer outside the group. */
const DRAIN_WITHIN_MS = 5_000;

/** Reads the messages and the log of a program in bounded memory. */
export const readProgram = (
  { stdout, stderr }: Pick<SupervisedProcess, 'stdout' | 'stderr'>,
  onProgress: (report: ProgressReport) => void,
  log: { debug(fields: object, message: string): void },
  { run_id, attempt }: { readonly run_id: string; readonly attempt: number },
): ProgramOutput => {
  let loggable = MAX_LOGGED_BYTES;
  const logLine = (stream: 'stdout' | 'stderr', text: string): void => {
    if (loggable <= 0 || text === '') return;
    loggable -= text.length;
    log.debug({ run_id, attempt, stream, line: text.slice(0, MAX_LOGGED_LINE) }, 'a line of the program');
    if (loggable <= 0) log.debug({ run_id, attempt }, 'further lines of this attempt are not logged');
  };

  const messages = collectMessages(onProgress, (text) => logLine('stdout', text), MAX_OUTPUTS_BYTES);
  const lines = cutLines(MAX_LINE_BYTES);
  const tail = stderrTail(STDERR_TAIL_BYTES);
  const errorLines = cutLines(MAX_LOGGED_LINE);
  const readers = [
    read(
      stdout,
      (chunk) => lines.push(chunk).forEach((line) => messages.take(readMessage(line))),
      () => lines.end().forEach((line) => messages.take(readMessage(line))),
    ),
    read(
      stderr,
      (chunk) => {
        tail.push(chunk);
        if (loggable > 0) errorLines.push(chunk).forEach(({ text }) => logLine('stderr', text));
      },
      () => errorLines.end().forEach(({ text }) => logLine('stderr', text)),
    ),
  ];

  return {
    drained: async () => {
      await within(DRAIN_WITHIN_MS, Promise.all(readers), () => undefined);
      // A process without a mark holds the pipe open. It is not waited for.
      stdout.destroy();
      stderr.destroy();
      await Promise.all(readers);
    },
    data: () => messages.data(),
    lost: () => messages.lost(),
    stderrTail: () => tail.text(),
  };
};

/** Resolves when the stream has ended or was destroyed. */
const read = async (stream: Readable, onChunk: (chunk: Buffer) => void, onEnd: () => void): Promise<void> => {
  let taken = 0;
  let resume: NodeJS.Timeout | undefined;
  stream.on('data', (chunk: Buffer) => {
    onChunk(chunk);
    taken += chunk.length;
    if (taken < READ_RATE.bytes) return;
    taken = 0;
    stream.pause();
    resume = setTimeout(() => stream.resume(), READ_RATE.pauseMs);
  });
  await new Promise((resolve) => stream.once('close', resolve));
  clearTimeout(resume);
  onEnd();
};
