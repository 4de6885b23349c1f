import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import { collectMessages } from '../process-output/collect-messages.ts';
import { readMessages } from '../process-output/message-lines.ts';
import { meansOutput, readMessage, type LostOutput } from '../process-output/program-messages.ts';
import { readLines } from '../process-output/read-lines.ts';
import { readStreams } from '../process-output/read-streams.ts';
import { STDERR_TAIL_BYTES, stderrTail } from '../process-output/stderr-tail.ts';
import type { RunData, RunObserver } from '../runner.ts';

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
  const messages = collectMessages(
    (report) => observe.progress(report),
    (line) => observe.log(line),
    MAX_OUTPUTS_BYTES,
  );
  const tail = stderrTail(STDERR_TAIL_BYTES);
  const draw = (drawing: string): void => messages.draw(drawing);
  const errorLines = readLines(MAX_LINE_BYTES, {
    take: ({ text }) => observe.log({ stream: 'stderr', line: text }),
    draw,
  });
  const streams = readStreams(process, {
    stdout: readMessages(MAX_LINE_BYTES, meansOutput, {
      take: (written) => messages.take(readMessage(written)),
      draw,
    }),
    stderr: {
      chunk: (chunk) => {
        tail.push(chunk);
        errorLines.chunk(chunk);
      },
      end: () => errorLines.end(),
    },
  });
  return {
    drained: () => streams.drained(),
    data: () => messages.data(),
    lost: () => messages.lost(),
    stderrTail: () => tail.text(),
  };
};
