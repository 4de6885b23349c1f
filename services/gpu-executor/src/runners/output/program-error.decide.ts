import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { describeExceeded } from '../../supervision/program-limits.ts';
import type { ProcessEnding } from '../../supervision/supervised-process.ts';
import type { OperatorCommand } from '../operator-command.ts';

export interface FailedProgram {
  readonly name: string;
  /** The kernel killed a process of this machine meanwhile, because memory was short. */
  readonly isMemoryShort: boolean;
  /** Of its /tmp in memory; null where that is not its own. */
  readonly temporaryBytes: number | null;
  /** The end of its standard error, without what clients must not see. */
  readonly stderr: string;
}

export interface EndedProgram extends FailedProgram {
  readonly end: Exclude<ProcessEnding, { kind: 'not_started' }>;
}

/** Why a program that has ended did not succeed; null when it did, as far as its end says. */
export const programError = ({
  name,
  end,
  isMemoryShort,
  temporaryBytes,
  stderr,
}: EndedProgram): AttemptError | null => {
  const program = `The program ${name}`;
  const shown = lastStderrLines(stderr);
  const said = (why: string): string => (shown === '' ? why : `${why}\n${shown}`);
  const killedForMemory = said(`${program} was killed: the machine had no memory left.`);
  if (end.kind === 'unreported') {
    // The kernel ends a control group as a whole, with the supervisor in it.
    return isMemoryShort
      ? errorOf('out_of_memory', killedForMemory)
      : errorOf('crashed', said(`${program} was lost: ${end.why}.`));
  }
  if (end.kind === 'exceeded') {
    const kind = end.exceeded.resource === 'memory' ? 'out_of_memory' : 'limit_exceeded';
    return errorOf(kind, said(`${program} was killed: ${describeExceeded(end.exceeded)}.`));
  }
  const { signal } = end;
  const code = end.code ?? 0;
  const known = signal === null ? { exit_code: code } : { signal };
  if (isMemoryShort && (signal === 'SIGKILL' || code === KILLED_CHILD)) {
    return errorOf('out_of_memory', killedForMemory, known);
  }
  const limit = LIMIT_SIGNALS[signal ?? ''];
  if (limit !== undefined) return errorOf('limit_exceeded', said(`${program} was ended: ${limit}.`), known);
  if (signal === null && code === 0) return null;
  const short = outOfMemoryIn(stderr, isMemoryShort);
  if (short !== null) return errorOf('out_of_memory', said(`${program} ran out of memory: ${short}`), known);
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  if (end.isTemporaryFull === true && temporaryBytes !== null)
    return errorOf('limit_exceeded', said(`${program} ${how}: ${isFull(temporaryBytes)}.`), known);
  const noSpace = noSpaceIn(stderr, temporaryBytes);
  const why = said(`${program} ${how}.${noSpace === null ? '' : ` ${noSpace}`}`);
  return errorOf(signal === null ? 'program_exit' : 'program_signal', why, known);
};

/** By which the kernel says that a process is over a limit. */
const LIMIT_SIGNALS: Readonly<Record<string, string>> = {
  SIGXCPU: 'a process of it took more processor time than its operator gives it (EXECUTOR_RUN_CPU_S)',
  SIGXFSZ: 'it wrote a larger file than its operator lets it (EXECUTOR_RUN_DISK_BYTES)',
};
/** The exit code of a shell whose child got SIGKILL. */
const KILLED_CHILD = 137;

/** Bytes of standard error in the message of an error. With the sentence before it, it fits into an event. */
const MAX_STDERR_BYTES = 1024;
/** A shorter value is no secret, and may be a part of any word. */
export const MIN_HIDDEN_LENGTH = 6;

/** The folders of the executor, by the names that stand for them. */
export type NamedFolders = Readonly<Record<string, string>>;

/** Puts names in the place of the executor's folders, and of the values that its operator gave to the program. */
export const hidingValues = (
  { env }: { readonly env: OperatorCommand['env'] },
  folders: NamedFolders,
): ((text: string) => string) => {
  const hidden = [
    ...Object.entries(folders),
    ...Object.entries(env).filter(([, value]) => value.length >= MIN_HIDDEN_LENGTH),
  ].toSorted(([, a], [, b]) => b.length - a.length);
  return (text) => hidden.reduce((rest, [name, value]) => rest.replaceAll(value, `$${name}`), text);
};

/** The last lines that a program wrote, without empty ones. `tail` begins anywhere in a line. */
export const lastStderrLines = (tail: string): string =>
  lastLines(tail.split('\n').filter((line) => line.trim() !== ''));

/** As many as fit, or the end of a single line that does not fit. */
const lastLines = (lines: readonly string[]): string => {
  let left = MAX_STDERR_BYTES;
  const tooMany = lines.findLastIndex((line) => (left -= Buffer.byteLength(line) + 1) < 0);
  const fitting = lines.slice(tooMany + 1);
  return fitting.length > 0 ? fitting.join('\n') : endOf(lines.at(-1) ?? '');
};

const endOf = (line: string): string => {
  let left = MAX_STDERR_BYTES;
  const characters = Array.from(line);
  const over = characters.findLastIndex((character) => (left -= Buffer.byteLength(character)) < 0);
  return characters.slice(over + 1).join('');
};

/** What a system call says, Python, Node, Go, C++ and Rust. */
const NO_SPACE = /No space left on device|\bENOSPC\b|\[Errno 28\]/i;

/** Why a program found no room to write; null when it does not say so. */
export const noSpaceIn = (text: string, temporaryBytes: number | null): string | null =>
  temporaryBytes !== null && NO_SPACE.test(text)
    ? `If that was in /tmp, which is in memory and has ${mib(temporaryBytes)}: ${WHAT_TO_DO}.`
    : null;

const isFull = (temporaryBytes: number): string =>
  `the /tmp of ${mib(temporaryBytes)} is full: ${WHAT_TO_DO}`;

const WHAT_TO_DO = 'write to $TMPDIR, which is on disk, or let the operator raise EXECUTOR_RUN_TMP_BYTES';

const mib = (bytes: number): string => `${Number((bytes / 1024 ** 2).toFixed(1))} MiB`;

/** What libraries say when memory is short, of the machine or of the card: each alternative is from their own messages. */
const OUT_OF_MEMORY = new RegExp(
  [
    // torch (CUDA, HIP, MPS), cupy, jax, llama.cpp, Node's heap, Go; torch.OutOfMemoryError, java.lang.OutOfMemoryError; numba, Node's workers.
    'out of memory|OutOfMemory|OUT_OF_MEMORY',
    // Python, numpy.
    String.raw`\b_?(?:Array)?MemoryError\b`,
    'CU[A-Z]+_(?:STATUS_)?ALLOC_FAILED',
    'cudaErrorMemoryAllocation',
    // jax, tensorflow. A service that is asked too often has the same word for it.
    'RESOURCE_EXHAUSTED(?!.*(?:quota|rate))|OOM when allocating',
    // torch's allocator, fork and mmap, onnxruntime, C++, Rust.
    "can(?:no|')t allocate memory|failed to allocate memory|std::bad_alloc|memory allocation of \\d+ bytes failed",
  ].join('|'),
  'i',
);

/** How a program says that something killed one of its own processes. */
const CHILD_KILLED = /\bSIGKILL\b|\bsignal:? (?:9\b|Killed)|terminated abruptly/i;

export const saysOutOfMemory = (text: string): boolean => OUT_OF_MEMORY.test(text);

const MAX_QUOTED = 300;

/**
 * The line that says so at the end of standard error, for people; null when none does. After a traceback of Python only the exception counts, and
 * what it is a direct cause of: a program may have got over an earlier one. `isMemoryShort`: the kernel killed a process meanwhile.
 */
export const outOfMemoryIn = (stderr: string, isMemoryShort = false): string | null => {
  const said = stderrLines(stderr).find(
    (line) => saysOutOfMemory(line) || (isMemoryShort && CHILD_KILLED.test(line)),
  );
  return said === undefined ? null : said.trim().slice(0, MAX_QUOTED).toWellFormed();
};

const TRACEBACK = 'Traceback (most recent call last):';
const CAUSE = 'The above exception was the direct cause of the following exception:';

const stderrLines = (stderr: string): string[] => {
  const [before = '', ...tracebacks] = stderr.split(TRACEBACK);
  if (tracebacks.length === 0) return before.split('\n');
  const first = tracebacks.findLastIndex((_, index) => tracebacks[index - 1]?.includes(CAUSE) !== true);
  return tracebacks.slice(first).flatMap((traceback) => {
    const lines = traceback.split('\n');
    const exception = lines.findIndex((line) => /^\S/.test(line));
    return exception === -1 ? [] : lines.slice(exception);
  });
};
