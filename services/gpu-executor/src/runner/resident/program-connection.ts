import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import type { ResidentConnection } from '../../resident-process/resident-spec.ts';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import { collectMessages, type CollectedMessages } from '../process-output/collect-messages.ts';
import { cutLines, type Line } from '../process-output/cut-lines.ts';
import { readMessages, type Written } from '../process-output/message-lines.ts';
import { readStreams } from '../process-output/read-streams.ts';
import { STDERR_TAIL_BYTES, stderrTail, type StderrTail } from '../process-output/stderr-tail.ts';
import type { LogLine, RunnerWork, RunObserver } from '../runner.ts';
import {
  cancelLine,
  meansResidentOutput,
  readResidentMessage,
  runLine,
  type ResidentMessage,
} from './resident-messages.ts';

/** The messages to and from one process of a resident program. */
export interface ProgramConnection extends ResidentConnection {
  begin(work: RunnerWork, observe: RunObserver): CurrentRun;
  /** Whether it has said that it makes the output folder of a run when it has a file for it. */
  makesOutputDir(): boolean;
  /** The last lines of standard error: of the current run, or since the last one. */
  stderrTail(): string;
  /** Resolves when the process has ended and everything that it wrote has been read. */
  readonly drained: Promise<void>;
}

interface CurrentRun extends Pick<CollectedMessages, 'data' | 'lost'> {
  readonly over: Promise<RunOver>;
  /** Asks the program to end the run. */
  cancel(): void;
}

export type RunOver =
  | Extract<ResidentMessage, { readonly kind: 'done' | 'failed' }>
  /** The process has ended, and did not say how the run ended. */
  | { readonly kind: 'crashed' };

/** A text output may be as long as all outputs of a run together; JSON adds quotes and escapes. */
const MAX_MESSAGE_BYTES = MAX_OUTPUTS_BYTES + 4 * 1024;
const MAX_LOG_LINE_BYTES = 64 * 1024;

interface Current {
  readonly run_id: string;
  readonly messages: CollectedMessages;
  readonly settle: (over: RunOver) => void;
}

/** `logLine` gets every line that is not a message of the current run. */
export const connectProgram = (
  process: SupervisedProcess,
  logLine: (line: LogLine) => void,
): ProgramConnection => {
  const ready = Promise.withResolvers<null>();
  const talk: Talk = { process, logLine, current: null, tail: stderrTail(STDERR_TAIL_BYTES), isGone: false };
  let isReady = false;
  let makesOutputDir = false;
  const take = (written: Written): void => {
    // Before `ready` a program may end a line that somebody has begun.
    if (!isReady && written.text === '') return;
    const message = readResidentMessage(written);
    if (message.kind === 'ready') {
      isReady = true;
      ({ makesOutputDir } = message);
      ready.resolve(null);
    } else if (message.kind === 'log' || !takeOfRun(message, talk.current))
      for (const line of written.lines) logLine({ stream: 'stdout', line: cutText(line) });
  };
  const takeError = ({ text }: Line): void => logLine({ stream: 'stderr', line: text });

  const errorLines = cutLines(MAX_LOG_LINE_BYTES);
  const streams = readStreams(process, {
    stdout: readMessages(MAX_MESSAGE_BYTES, meansResidentOutput, take),
    stderr: {
      chunk: (chunk) => {
        talk.tail.push(chunk);
        errorLines.push(chunk).forEach(takeError);
      },
      end: () => errorLines.end().forEach(takeError),
    },
  });
  const readToEnd = async (): Promise<void> => {
    await process.ended;
    await streams.drained();
    talk.isGone = true;
    talk.current?.settle({ kind: 'crashed' });
  };

  return {
    ready: ready.promise,
    begin: (work, observe) => beginRun(talk, work, observe),
    makesOutputDir: () => makesOutputDir,
    stderrTail: () => talk.tail.text(),
    drained: readToEnd(),
  };
};

interface Talk {
  readonly process: SupervisedProcess;
  readonly logLine: (line: LogLine) => void;
  current: Current | null;
  tail: StderrTail;
  isGone: boolean;
}

const beginRun = (talk: Talk, work: RunnerWork, observe: RunObserver): CurrentRun => {
  const { process, logLine } = talk;
  // What an earlier run wrote must not be shown to the client of this one.
  talk.tail = stderrTail(STDERR_TAIL_BYTES);
  const messages = collectMessages((report) => observe.progress(report), logLine, MAX_OUTPUTS_BYTES);
  const { promise, resolve } = Promise.withResolvers<RunOver>();
  const settle = (over: RunOver): void => {
    talk.current = null;
    resolve(over);
  };
  talk.current = { run_id: work.run_id, messages, settle };
  if (talk.isGone) settle({ kind: 'crashed' });
  else process.stdin.write(runLine(work));
  return {
    data: () => messages.data(),
    lost: () => messages.lost(),
    over: promise,
    cancel: () => void process.stdin.write(cancelLine(work.run_id)),
  };
};

/** False for a message of another run, such as one that was cancelled. */
const takeOfRun = (
  message: Exclude<ResidentMessage, { readonly kind: 'ready' | 'log' }>,
  current: Current | null,
): boolean => {
  if (current === null || (message.run_id !== null && message.run_id !== current.run_id)) return false;
  if (message.kind === 'report') current.messages.take(message.message);
  else current.settle(message);
  return true;
};

const cutText = (text: string): string =>
  text.length <= MAX_LOG_LINE_BYTES / 4 ? text : Buffer.from(text).subarray(0, MAX_LOG_LINE_BYTES).toString();
