import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';

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
  /** Adds texts to the outputs of the run. */
  output(texts: string | readonly string[], kind?: string): void;
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
  const write = process.stdout.write.bind(process.stdout);
  const send = (message: object): void => void write(`${JSON.stringify(message)}\n`);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // What was printed before may end within a line.
  write('\n');
  send({ type: 'ready', makes_output_dir: true });
  let current = { runId: '', stop: new AbortController(), over: Promise.resolve() };
  for await (const line of createInterface({ input: process.stdin })) {
    const message = readLine(line);
    if (message.type === 'cancel' && message.run_id === current.runId)
      current.stop.abort(new Error('cancelled'));
    if (message.type !== 'run') continue;
    const stop = new AbortController();
    current = { runId: message.run_id, stop, over: execute(run, message, stop.signal, send) };
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

const execute = async (run: Run, message: RunMessage, signal: AbortSignal, send: Send): Promise<void> => {
  const { run_id, attempt, workflow, inputs, gpu, output_dir, input_dir } = message;
  const say = (type: string, members: object = {}): void => send({ type, run_id, ...members });
  const progress: Context['progress'] = (value, live_status) => {
    signal.throwIfAborted();
    say('progress', { progress: value, live_status });
  };
  const output: Context['output'] = (texts, kind = 'text') =>
    say('output', { [kind]: typeof texts === 'string' ? [texts] : texts });
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
  try {
    await run(inputs, context);
    say('done');
  } catch (error) {
    // oxlint-disable-next-line no-console -- the log of the run
    console.error(error);
    const retryable = error instanceof RunFailed ? error.retryable : true;
    say('failed', { message: error instanceof Error ? error.message : String(error), retryable });
  }
};

type Send = (message: object) => void;

interface RunMessage extends Pick<Context, 'attempt' | 'workflow' | 'gpu'> {
  readonly run_id: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly output_dir: string;
  readonly input_dir: string;
}
