import { within } from '@runledger/resilience/within';
import { beginningMembers, parsePythonObject } from '../output/python-json.ts';
import type { Written } from '../output/message-lines.ts';
import {
  badOutput,
  member,
  reportOf,
  unreadable,
  withoutUnseen,
  type ProgramMessage,
} from '../output/program-messages.ts';
import type { RunnerWork } from '../runner.ts';

/** One line of a resident program's standard output, parsed. */
export type ResidentMessage =
  /** `makesOutputDir`: it makes the output folder of a run when it has a file for it. */
  | { readonly kind: 'ready'; readonly makesOutputDir: boolean }
  /** Of the current run. The run of a line that is no JSON may not be known. */
  | {
      readonly kind: 'report';
      readonly run_id: string | null;
      readonly message: Exclude<ProgramMessage, { kind: 'log' }>;
    }
  /** What a run has printed: its log, told by the program itself. */
  | {
      readonly kind: 'printed';
      readonly run_id: string;
      readonly stream: 'stdout' | 'stderr';
      readonly text: string;
    }
  | { readonly kind: 'done'; readonly run_id: string }
  /** `retryable` is null when the program does not say it. */
  | {
      readonly kind: 'failed';
      readonly run_id: string;
      readonly message: string;
      readonly retryable: boolean | null;
    }
  | { readonly kind: 'log' };

export const readResidentMessage = (written: Written): ResidentMessage => {
  const { text, cut } = written;
  const value = cut ? undefined : parsePythonObject(text);
  if (value !== undefined) return messageOf(value, text) ?? { kind: 'log' };
  if (!meansResidentOutput(text)) return { kind: 'log' };
  return { kind: 'report', run_id: runIn(text), message: unreadable(written, TOO_LONG) };
};

/** Of a line that is cut, or no JSON; null when it names no run. */
const runIn = (text: string): string | null =>
  /^"([\w-]+)"$/.exec(beginningMembers(text).get('run_id') ?? '')?.[1] ?? null;

const TOO_LONG = 'an "output" line is longer than 260 KiB';

/** A line that is no JSON, or is cut, means to be an output when it begins like one. */
export const meansResidentOutput = (text: string): boolean => {
  const seen = withoutUnseen(text);
  return (
    /^\s*\{/.test(seen) && (OUTPUT_FIRST.test(seen) || beginningMembers(seen).get('type') === '"output"')
  );
};

/** As `print` writes a dict of Python, and `console.log` an object. */
const OUTPUT_FIRST = /^\s*\{\s*(['"]?)type\1\s*:\s*(['"])output\2/;

const messageOf = (value: Readonly<Record<string, unknown>>, text: string): ResidentMessage | null => {
  const type = member(value, 'type');
  if (type === 'ready') return { kind: 'ready', makesOutputDir: member(value, 'makes_output_dir') === true };
  const run_id = member(value, 'run_id');
  if (typeof run_id !== 'string') {
    if (type !== 'output') return null;
    const message = badOutput('invalid_output', 'an "output" line names no run_id', text);
    return { kind: 'report', run_id: null, message };
  }
  switch (type) {
    case 'progress': {
      const { progress, live_status } = value;
      const message = reportOf({ progress, live_status }, text);
      return message === null ? null : { kind: 'report', run_id, message };
    }
    case 'output': {
      const { type: _, run_id: __, ...output } = value;
      const message = reportOf({ output }, text);
      return message === null ? null : { kind: 'report', run_id, message };
    }
    case 'log': {
      const text = member(value, 'text');
      const stream = member(value, 'stream') === 'stderr' ? 'stderr' : 'stdout';
      return typeof text === 'string' ? { kind: 'printed', run_id, stream, text } : null;
    }
    case 'done':
      return { kind: 'done', run_id };
    case 'failed': {
      const [message, retryable] = [member(value, 'message'), member(value, 'retryable')];
      return {
        kind: 'failed',
        run_id,
        message: typeof message === 'string' ? message : '',
        retryable: typeof retryable === 'boolean' ? retryable : null,
      };
    }
    default:
      return null;
  }
};

/** The line that begins a run. */
export const runLine = ({
  run_id,
  attempt,
  workflow,
  inputs,
  gpu,
  outputDir,
  inputDir,
}: RunnerWork): string =>
  line({
    type: 'run',
    run_id,
    attempt,
    workflow,
    inputs,
    gpu,
    output_dir: outputDir,
    input_dir: inputDir,
  });

export const cancelLine = (run_id: string): string => line({ type: 'cancel', run_id });

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/**
 * What a program writes into its log between the runs: at `ready`, when a run begins, and when it has ended. The mark is a text that nobody
 * else knows, so no line of a log is taken for one.
 */
export type LogPoint = 'ready' | `run ${string}` | `done ${string}`;

/** Where a stream of a program is, by its marks. Without marks it stays where it begins. */
export type LogSection = 'loading' | 'between' | { readonly run_id: string };

export interface MarkedStream {
  take(line: string): void;
  /** Gives on what is held. */
  end(): void;
  section(): LogSection;
  /** Resolves when this point was the last one, or a few seconds later: a program may not come to it. */
  until(point: LogPoint): Promise<void>;
}

/** A process that was killed, or a run that closed its streams, leaves none. */
const MARK_WITHIN_MS = 5_000;

/** Gives each line of a stream on, with the section that it is in. A mark has a line for itself, with an empty one before it that is not given on. */
export const markedStream = (
  mark: string,
  onLine: (line: string, section: LogSection) => void,
): MarkedStream => {
  let section: LogSection = 'loading';
  let last = '';
  let isHeld = false;
  let waiting: { readonly point: LogPoint; readonly resolve: () => void } | null = null;

  const pass = (point: string): void => {
    const [word, run_id = ''] = point.split(' ');
    section = word === 'run' ? { run_id } : 'between';
    last = point;
    if (waiting?.point === point) waiting.resolve();
  };

  return {
    take: (line) => {
      if (line.startsWith(`${mark} `)) {
        isHeld = false;
        return pass(line.slice(mark.length + 1));
      }
      if (isHeld) onLine('', section);
      isHeld = line === '';
      if (!isHeld) onLine(line, section);
    },
    end: () => {
      if (isHeld) onLine('', section);
      isHeld = false;
    },
    section: () => section,
    until: async (point) => {
      if (last === point) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { point, resolve };
      await within(MARK_WITHIN_MS, promise, () => undefined);
      waiting = null;
    },
  };
};
