import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import type { ResidentConnection } from '../../residents/start-process.ts';
import type { SupervisedProcess } from '../../supervision/supervised-process.ts';
import {
  collectMessages,
  type CollectedData,
  type CollectedMessages,
  badOutput,
} from '../output/program-messages.ts';
import { readMessages, type Written } from '../output/message-lines.ts';
import {
  readLines,
  readStreams,
  type ReadStreams,
  type StreamReader,
  STDERR_TAIL_BYTES,
  stderrTail,
  type StderrTail,
} from '../output/read-streams.ts';
import type { LogLine, RunnerWork, RunObserver } from '../runner.ts';
import {
  markedStream,
  type LogPoint,
  type LogSection,
  type MarkedStream,
  cancelLine,
  meansResidentOutput,
  readResidentMessage,
  runLine,
  type ResidentMessage,
} from './resident-messages.ts';

/** The messages to and from one process of a resident program. */
export interface ProgramConnection extends ResidentConnection {
  /**
   * Resolves when the program has the run. Its log has what the program writes from now on until it is over; of a program that is mixed,
   * which has had runs of other organisations, only what it says is of the run.
   */
  begin(work: RunnerWork, observe: RunObserver, isMixed: boolean): Promise<CurrentRun>;
  /** Whether it has said that it makes the output folder of a run when it has a file for it. */
  makesOutputDir(): boolean;
  /** The last lines of standard error: of the current run, or while it was loaded. */
  stderrTail(): string;
  /** Resolves when the process has ended and everything that it wrote has been read. */
  readonly drained: Promise<void>;
}

interface CurrentRun extends CollectedData {
  /** Settles when its log is whole, too. */
  readonly over: Promise<RunOver>;
  /** How many lines the program has written meanwhile of which nothing says whose they are. */
  unknownLines(): number;
  /** Asks the program to end the run. */
  cancel(): void;
}

type RunOver =
  | Extract<ResidentMessage, { readonly kind: 'done' | 'failed' }>
  /** The process has ended, and did not say how the run ended. */
  | { readonly kind: 'crashed' };

/** Who gets what a program writes without a run. */
export interface ProgramLogs {
  readonly loading: (line: LogLine) => void;
  readonly between: (line: LogLine) => void;
}

/** A text output may be as long as all outputs of a run together; JSON adds quotes and escapes. */
const MAX_MESSAGE_BYTES = MAX_OUTPUTS_BYTES + 4 * 1024;
const MAX_LOG_LINE_BYTES = 64 * 1024;

interface Current {
  readonly run_id: string;
  readonly messages: CollectedMessages;
  readonly log: (line: LogLine) => void;
  /** Of what the program says that it has printed. */
  readonly printed: Readonly<Record<'stdout' | 'stderr', StreamReader>>;
  unknownLines: number;
  readonly settle: (over: RunOver) => void;
  /** What the program has said of its end, while the rest of its log is read. */
  over: RunOver | null;
}

interface Talk {
  readonly process: SupervisedProcess;
  readonly logs: ProgramLogs;
  readonly stdout: MarkedStream;
  readonly stderr: MarkedStream;
  readonly streams: ReadStreams;
  /** Its messages come by its standard input, and it writes marks into its log. Otherwise they come by its standard output. */
  writesMarks: boolean;
  isReady: boolean;
  isMixed: boolean;
  makesOutputDir: boolean;
  current: Current | null;
  tail: StderrTail;
  isGone: boolean;
}

const AT_START = {
  writesMarks: false,
  isReady: false,
  isMixed: false,
  makesOutputDir: false,
  current: null,
  isGone: false,
} as const;

/** `mark` begins the marks that the program writes into its log, if it writes any. */
export const connectProgram = (
  process: SupervisedProcess,
  mark: string,
  logs: ProgramLogs,
): ProgramConnection => {
  const ready = Promise.withResolvers<null>();
  const become = async (): Promise<void> => {
    await untilRead(talk, 'ready');
    talk.isReady = true;
    ready.resolve(null);
  };
  const take = (stream: 'stdout' | 'control', written: Written): void => {
    // Before `ready` a program may end a line that somebody has begun.
    if (!talk.isReady && written.text === '') return;
    const isLog = stream === 'stdout' && talk.writesMarks;
    const message = isLog ? ({ kind: 'log' } as const) : readResidentMessage(written);
    if (stream === 'control') talk.writesMarks = true;
    if (message.kind === 'ready') {
      talk.makesOutputDir = message.makesOutputDir;
      void become();
    } else if (message.kind === 'log' || !takeOfRun(message, talk))
      for (const line of written.lines) talk.stdout.take(cutText(line));
  };
  const draw = (stream: 'stdout' | 'stderr') => (drawing: string) => {
    const { current } = talk;
    if (current?.over === null && isOf(talk, current, talk[stream].section())) current.messages.draw(drawing);
  };
  const messages = (stream: 'stdout' | 'control'): StreamReader =>
    readMessages(MAX_MESSAGE_BYTES, meansResidentOutput, {
      take: (written) => take(stream, written),
      draw: stream === 'stdout' ? draw(stream) : () => undefined,
    });
  const talk: Talk = {
    process,
    logs,
    stdout: markedStream(mark, (line, section) => write(talk, { stream: 'stdout', line }, section)),
    stderr: markedStream(mark, (line, section) => write(talk, { stream: 'stderr', line }, section)),
    streams: readStreams(process, {
      stdout: messages('stdout'),
      stderr: readLines(MAX_LOG_LINE_BYTES, {
        take: ({ text }) => talk.stderr.take(text),
        draw: draw('stderr'),
      }),
      control: messages('control'),
    }),
    ...AT_START,
    tail: stderrTail(STDERR_TAIL_BYTES),
  };

  return {
    ready: ready.promise,
    begin: (work, observe, isMixed) => beginRun(Object.assign(talk, { isMixed }), work, observe),
    makesOutputDir: () => talk.makesOutputDir,
    stderrTail: () => talk.tail.text(),
    drained: readToEnd(talk),
  };
};

const readToEnd = async (talk: Talk): Promise<void> => {
  await talk.process.ended;
  await talk.streams.drained();
  for (const stream of [talk.stdout, talk.stderr]) stream.end();
  talk.isGone = true;
  talk.current?.settle(talk.current.over ?? { kind: 'crashed' });
};

/** Resolves when everything is read that the program has written up to this point. */
const untilRead = async ({ stdout, stderr, streams, writesMarks }: Talk, point: LogPoint): Promise<void> => {
  if (writesMarks) await Promise.all([stdout.until(point), stderr.until(point)]);
  else await streams.quiet();
};

/**
 * By its marks, or without any by what the program does just now. What an earlier run has left, such as a thread, writes like the current one:
 * where that can be of another organisation, nothing is of the run by its time.
 */
const isOf = ({ writesMarks, isMixed }: Talk, current: Current, section: LogSection): boolean =>
  !isMixed && (!writesMarks || (typeof section === 'object' && section.run_id === current.run_id));

const write = (talk: Talk, line: LogLine, section: LogSection): void => {
  const { current, logs, isReady, writesMarks } = talk;
  const isLoading = writesMarks ? section === 'loading' : !isReady;
  const isOfRun = current !== null && isOf(talk, current, section);
  if (isOfRun) return writeOfRun(talk, current, line);
  if (isLoading) {
    pushTail(talk, line);
    return logs.loading(line);
  }
  if (current !== null && line.line !== '') noteUnknown(current);
  logs.between(line);
};

const writeOfRun = (talk: Talk, { log }: Current, line: LogLine): void => {
  pushTail(talk, line);
  log(line);
};

const pushTail = ({ tail }: Talk, { stream, line }: LogLine): void => {
  if (stream === 'stderr') tail.push(Buffer.from(`${line}\n`));
};

const noteUnknown = (current: Current): void => {
  if (current.unknownLines === 0) current.log({ stream: 'runner', line: UNKNOWN_LINES });
  current.unknownLines += 1;
};

const UNKNOWN_LINES =
  'The program serves several organisations. What it writes without saying for which run, as libraries in C and child processes do, is in the log of the executor.';

const beginRun = async (talk: Talk, work: RunnerWork, observe: RunObserver): Promise<CurrentRun> => {
  const { process } = talk;
  const { run_id } = work;
  // What an earlier run has left behind, such as a thread, must not be in the log of this one.
  if (!talk.writesMarks) await talk.streams.quiet();
  talk.tail = stderrTail(STDERR_TAIL_BYTES);
  const log = (line: LogLine): void => observe.log(line);
  const messages = collectMessages((report) => observe.progress(report), log, MAX_OUTPUTS_BYTES);
  const { promise, resolve } = Promise.withResolvers<RunOver>();
  const settle = (over: RunOver): void => {
    for (const reader of [printed.stdout, printed.stderr]) reader.end();
    talk.current = null;
    resolve(over);
  };
  const printedTo = (stream: 'stdout' | 'stderr'): StreamReader =>
    readLines(MAX_LOG_LINE_BYTES, {
      take: ({ text }) => writeOfRun(talk, current, { stream, line: text }),
      draw: (drawing) => messages.draw(drawing),
    });
  const printed = { stdout: printedTo('stdout'), stderr: printedTo('stderr') };
  const current: Current = { run_id, messages, log, printed, settle, unknownLines: 0, over: null };
  talk.current = current;
  if (talk.isGone) settle({ kind: 'crashed' });
  else process.stdin.write(runLine(work));
  return {
    data: () => messages.data(),
    lost: () => messages.lost(),
    over: promise,
    unknownLines: () => current.unknownLines,
    cancel: () => void process.stdin.write(cancelLine(run_id)),
  };
};

/** False for a message of another run, such as one that was cancelled, and for one after the end of this run: it is a line of the log. */
const takeOfRun = (
  message: Exclude<ResidentMessage, { readonly kind: 'ready' | 'log' }>,
  talk: Talk,
): boolean => {
  const { current } = talk;
  const isOfCurrent = current !== null && (message.run_id ?? current.run_id) === current.run_id;
  if (message.kind === 'printed' && !(isOfCurrent && current.over === null)) {
    talk.logs.between({ stream: message.stream, line: message.text.trimEnd() });
    return true;
  }
  if (!isOfCurrent || current.over !== null) return false;
  if (message.kind === 'printed') current.printed[message.stream].chunk(Buffer.from(message.text));
  else if (message.kind === 'report')
    current.messages.take(message.run_id === null && talk.isMixed ? OF_NO_RUN : message.message);
  else {
    current.over = message;
    void untilRead(talk, `done ${current.run_id}`).then(() => {
      if (talk.current === current) current.settle(message);
    });
  }
  return true;
};

/** It may be of another organisation, and then nobody here may see it. */
const OF_NO_RUN = badOutput(
  'invalid_output',
  'a line that means to be an output names no run, and the program serves several organisations',
  '',
);

const cutText = (text: string): string =>
  text.length <= MAX_LOG_LINE_BYTES / 4 ? text : Buffer.from(text).subarray(0, MAX_LOG_LINE_BYTES).toString();
