import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { describeExceeded } from '../../limits/program-limits.ts';
import type { ProcessEnding } from '../../supervision/supervised-process.ts';

export interface EndedProgram {
  readonly name: string;
  readonly end: Exclude<ProcessEnding, { kind: 'not_started' }>;
  /** The kernel killed a process of this machine meanwhile, because memory was short. */
  readonly isMemoryShort: boolean;
  /** The last lines of its standard error, for people. */
  readonly stderr: string;
}

/** Why a program that has ended did not succeed; null when it did, as far as its end says. */
export const programError = ({ name, end, isMemoryShort, stderr }: EndedProgram): AttemptError | null => {
  const program = `The program ${name}`;
  const said = (why: string): string => (stderr === '' ? why : `${why}\n${stderr}`);
  if (end.kind === 'unreported') return errorOf('crashed', said(`${program} was lost: ${end.why}.`));
  if (end.kind === 'exceeded') {
    const kind = end.exceeded.resource === 'memory' ? 'out_of_memory' : 'limit_exceeded';
    return errorOf(kind, said(`${program} was killed: ${describeExceeded(end.exceeded)}.`));
  }
  const { signal } = end;
  const code = end.code ?? 0;
  const known = signal === null ? { exit_code: code } : { signal };
  if (isMemoryShort && (signal === 'SIGKILL' || code === KILLED_CHILD)) {
    return errorOf('out_of_memory', said(`${program} was killed: the machine had no memory left.`), known);
  }
  const limit = LIMIT_SIGNALS[signal ?? ''];
  if (limit !== undefined) return errorOf('limit_exceeded', said(`${program} was ended: ${limit}.`), known);
  if (signal !== null) return errorOf('program_signal', said(`${program} was ended by ${signal}.`), known);
  if (code === 0) return null;
  return errorOf('program_exit', said(`${program} ended with exit code ${code}.`), known);
};

/** By which the kernel says that a process is over a limit. */
const LIMIT_SIGNALS: Readonly<Record<string, string>> = {
  SIGXCPU: 'a process of it took more processor time than its operator gives it (EXECUTOR_RUN_CPU_S)',
  SIGXFSZ: 'it wrote a larger file than its operator lets it (EXECUTOR_RUN_DISK_BYTES)',
};
/** The exit code of a shell whose child got SIGKILL. */
const KILLED_CHILD = 137;
