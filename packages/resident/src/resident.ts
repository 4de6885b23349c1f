import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { fstatSync, mkdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** What a run has beside its inputs. */
export interface Context {
  readonly runId: string;
  /** From 1; work that was lost is done again. */
  readonly attempt: number;
  readonly workflow: unknown;
  readonly gpu: string;
  /** Files that are in this folder at the end are the outputs of the run. It is made when it is first asked for. */
  readonly outputDir: string;
  /** The files of its inputs. An input that is a file has the file's name in it as its value. */
  readonly inputDir: string;
  /** Aborted when the run must end: clean up and return or throw. */
  readonly signal: AbortSignal;
  /** From 0 to 1, with one short line for people. Throws when the run must end. */
  progress(progress: number, liveStatus?: string): void;
  /**
   * Adds a text, or another value that JSON has, to the outputs of the run; a list is several. Texts are of the kind `text` and other values of
   * the kind `json`, if it is not given. Throws for what is no JSON.
   */
  output(values: unknown, kind?: string): void;
}

/** `inputs`: an integer that a double would change, such as a seed of 64 bits, is a bigint. */
export type Run = (inputs: Readonly<Record<string, unknown>>, context: Context) => Promise<void> | void;

/** Fails the run with a message that its client sees. `retryable`: the same run may succeed another time. */
export class RunFailed extends Error {
  readonly retryable: boolean;

  constructor(message: string, { retryable = true }: { readonly retryable?: boolean } = {}) {
    super(message);
    this.retryable = retryable;
  }
}

/**
 * Executes runs, one at a time, until the executor ends the program. Call it when everything is loaded. What is printed from then
 * on is the log of the current run.
 */
export const serve = async (run: Run): Promise<void> => {
  const mark = logMark();
  const { input, write } = openChannel(mark);
  const send = (message: object): void => void write(`${toJson(message)}\n`);
  // oxlint-disable-next-line node/no-process-env -- the executor says it there
  if (mark !== undefined && process.env['RUNLEDGER_LOG_BY_RUN'] !== undefined) sayOfWhichRun(send);
  markLog(mark, 'ready');
  // What was printed before may end within a line.
  write('\n');
  send({ type: 'ready', makes_output_dir: true });
  let current = { runId: '', stop: new AbortController(), over: Promise.resolve() };
  for await (const line of createInterface({ input })) {
    const message = readLine(line);
    if (message.type === 'cancel' && message.run_id === current.runId)
      current.stop.abort(new Error('cancelled'));
    if (message.type !== 'run') continue;
    const stop = new AbortController();
    current = { runId: message.run_id, stop, over: execute(run, message, stop.signal, { send, mark }) };
  }
  current.stop.abort(new Error('stopped'));
  await current.over;
};

const LONG_INTEGER = /\d{16}/;
const TEXT_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

/** JSON whose integers that a double would change are bigints. Node has known the text of a number only since 21. */
const readLine = (line: string): ReturnType<typeof JSON.parse> => {
  if (!LONG_INTEGER.test(line)) return JSON.parse(line);
  const mark = `${randomUUID()}:`;
  const marked = line.replaceAll(TEXT_OR_NUMBER, (token) => (isChanged(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
};

const isChanged = (token: string): boolean => /^-?\d{16,}$/.test(token) && String(Number(token)) !== token;

/** Numbers that JSON does not have become texts of their words, as the executor keeps those of Python. */
const toJson = (message: object): string =>
  JSON.stringify(message, (_name, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );

interface Channel {
  readonly input: Readable;
  readonly write: Writable['write'];
}

/** Undefined where standard input takes no messages, as by hand. */
const logMark = (): string | undefined =>
  // oxlint-disable-next-line node/no-process-env -- the executor says it there
  fstatSync(0).isSocket() ? process.env['RUNLEDGER_LOG_MARK'] : undefined;

/**
 * Messages go to standard input, so that what is printed is the log alone. Where that takes none, they go to standard output, and what is
 * printed to standard error.
 */
const openChannel = (mark: string | undefined): Channel => {
  if (mark !== undefined) {
    const socket = new Socket({ fd: 0, readable: true, writable: true });
    return { input: socket, write: socket.write.bind(socket) };
  }
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return { input: process.stdin, write };
};

/** Marks in the log say where a run begins and ends: it comes by other ways than the messages. */
const markLog = (mark: string | undefined, point: string): void => {
  if (mark === undefined) return;
  for (const stream of [process.stdout, process.stderr]) stream.write(`\n${mark} ${point}\n`);
};

/** Of which run the present code is. */
const ofRun = new AsyncLocalStorage<string>();
/** A message must not become longer than the executor reads. */
const PIECES = /[^]{1,16384}/gu;

/**
 * What a run prints goes to the executor with its id: what it has left behind prints, too, also while a later run executes. Organisations share
 * the program, so nothing that cannot be told apart may be in the log of a run.
 */
const sayOfWhichRun = (send: (message: object) => void): void => {
  for (const stream of ['stdout', 'stderr'] as const) {
    const write = process[stream].write.bind(process[stream]);
    const writeOfRun = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
      const run_id = ofRun.getStore();
      if (run_id === undefined) return Reflect.apply(write, undefined, [chunk, ...rest]);
      const printed = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      for (const text of printed.match(PIECES) ?? []) send({ type: 'log', run_id, stream, text });
      const done = rest.find((each) => typeof each === 'function');
      if (done !== undefined) process.nextTick(done);
      return true;
    };
    process[stream].write = writeOfRun;
  }
};

const execute = async (
  run: Run,
  message: RunMessage,
  signal: AbortSignal,
  { send, mark }: Outward,
): Promise<void> => {
  const { run_id, attempt, workflow, inputs, gpu, output_dir, input_dir } = message;
  const say = (type: string, members: object = {}): void => send({ type, run_id, ...members });
  const progress: Context['progress'] = (value, live_status) => {
    signal.throwIfAborted();
    say('progress', { progress: value, live_status });
  };
  const output: Context['output'] = (given, kind) => {
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (values.some((value) => JSON.stringify(value) === undefined))
      throw new TypeError('an output is a text or another value that JSON has');
    if (kind === 'type' || kind === 'run_id')
      throw new TypeError(`an output cannot be of the kind ${kind}: the message has such a member`);
    const areTexts = values.every((value) => typeof value === 'string');
    say('output', { [kind ?? (areTexts ? 'text' : 'json')]: values });
  };
  const context: Context = {
    runId: run_id,
    attempt,
    workflow,
    gpu,
    get outputDir() {
      mkdirSync(output_dir, { recursive: true });
      return output_dir;
    },
    inputDir: input_dir,
    signal,
    progress,
    output,
  };
  markLog(mark, `run ${run_id}`);
  const result = await ofRun.run(run_id, () => resultOf(() => run(inputs, context)));
  markLog(mark, `done ${run_id}`);
  send({ run_id, ...result });
};

const resultOf = async (run: () => Promise<void> | void): Promise<object> => {
  try {
    await run();
    return { type: 'done' };
  } catch (error) {
    // oxlint-disable-next-line no-console -- the log of the run
    console.error(error);
    const retryable = error instanceof RunFailed ? error.retryable : true;
    return { type: 'failed', message: error instanceof Error ? error.message : String(error), retryable };
  }
};

interface Outward {
  readonly send: (message: object) => void;
  readonly mark: string | undefined;
}

interface RunMessage extends Pick<Context, 'attempt' | 'workflow' | 'gpu'> {
  readonly run_id: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly output_dir: string;
  readonly input_dir: string;
}
