import { sleep } from '@runledger/resilience/abort';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import { cutLines } from '../../runners/output/cut-lines.ts';
import { readStreams, type StreamReader } from '../../runners/output/read-streams.ts';
import type { LogLine } from '../../runners/runner.ts';

/** What a server that the executor started writes. */
export interface ServerOutput {
  /** From now on its lines go there, as they are written. Call what it returns to stop that. */
  listen(onLine: (line: LogLine) => void): () => void;
  /** The end of a run comes by another way than its last lines, and may overtake them. Resolves when no more come, or after a second. */
  untilQuiet(): Promise<void>;
  /** What it wrote last, for a run that cannot have it. */
  lastLines(): readonly LogLine[];
}

const MAX_LINE_BYTES = 64 * 1024;
const LAST_LINES = 40;
const QUIET_MS = 100;
const QUIET_WITHIN_MS = 1_000;

/** Reads the output of a server until it is `gone`. `shownLine` is called once for each line, and has null for one that nobody is shown. */
export const readServerOutput = (
  { stdout, stderr }: Pick<SupervisedProcess, 'stdout' | 'stderr'>,
  gone: AbortSignal,
  shownLine: (line: string) => string | null,
): ServerOutput => {
  const last: LogLine[] = [];
  let listener: ((line: LogLine) => void) | undefined;
  let lineAt = 0;
  const take = ({ stream, line: written }: LogLine): void => {
    lineAt = performance.now();
    const line = shownLine(written);
    if (line !== null) last.push({ stream, line });
    if (last.length > LAST_LINES) last.shift();
    listener?.({ stream, line: written });
  };
  const streams = readStreams(
    { stdout, stderr },
    {
      stdout: lineReader((line) => take({ stream: 'stdout', line })),
      stderr: lineReader((line) => take({ stream: 'stderr', line })),
    },
  );
  gone.addEventListener('abort', () => void streams.drained(), { once: true });
  return {
    lastLines: () => last,
    untilQuiet: async () => {
      const deadline = performance.now() + QUIET_WITHIN_MS;
      do await sleep(QUIET_MS);
      while (performance.now() - lineAt < QUIET_MS && performance.now() < deadline);
    },
    listen: (onLine) => {
      listener = onLine;
      return () => {
        listener = undefined;
      };
    },
  };
};

const lineReader = (onLine: (line: string) => void): StreamReader => {
  const lines = cutLines(MAX_LINE_BYTES);
  return {
    chunk: (chunk) => lines.push(chunk).forEach(({ text }) => onLine(text)),
    end: () => lines.end().forEach(({ text }) => onLine(text)),
  };
};
