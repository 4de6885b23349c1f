import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import { collectMessages } from '../process-output/collect-messages.ts';
import { cutLines, type Line } from '../process-output/cut-lines.ts';
import { readMessage, type LostOutput } from '../process-output/program-messages.ts';
import { readStreams } from '../process-output/read-streams.ts';
import { STDERR_TAIL_BYTES, stderrTail } from '../process-output/stderr-tail.ts';
import type { LogLine, RunData, RunObserver } from '../runner.ts';

export interface ProgramOutput {
  /** Resolves when both streams are read to their end. */
  drained(): Promise<void>;
  data(): RunData;
  lost(): LostOutput | null;
  stderrTail(): string;
}

const MAX_LINE_BYTES = 64 * 1024;

/** Reads the messages and the log of a program in bounded memory. */
export const readProgram = (
  process: Pick<SupervisedProcess, 'stdout' | 'stderr'>,
  observe: RunObserver,
): ProgramOutput => {
  const log = (stream: LogLine['stream'], line: string): void => observe.log({ stream, line });
  const messages = collectMessages(
    (report) => observe.progress(report),
    (line) => log('stdout', line),
    MAX_OUTPUTS_BYTES,
  );
  const lines = cutLines(MAX_LINE_BYTES);
  const tail = stderrTail(STDERR_TAIL_BYTES);
  const errorLines = cutLines(MAX_LINE_BYTES);
  const take = (line: Line): void => messages.take(readMessage(line));
  const takeError = ({ text }: Line): void => log('stderr', text);
  const streams = readStreams(process, {
    stdout: {
      chunk: (chunk) => lines.push(chunk).forEach(take),
      end: () => lines.end().forEach(take),
    },
    stderr: {
      chunk: (chunk) => {
        tail.push(chunk);
        errorLines.push(chunk).forEach(takeError);
      },
      end: () => errorLines.end().forEach(takeError),
    },
  });
  return {
    drained: () => streams.drained(),
    data: () => messages.data(),
    lost: () => messages.lost(),
    stderrTail: () => tail.text(),
  };
};
