import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { describeExceeded } from '../../supervision/program-limits.ts';
import { isFull, noRoomIn } from './full-folder.ts';
import { outOfMemoryIn } from './out-of-memory.ts';
import { shownStderr } from './shown-stderr.ts';
import type { ProcessEnding } from '../../supervision/supervised-process.ts';

export interface EndedProgram {
  readonly name: string;
  readonly end: Exclude<ProcessEnding, { kind: 'not_started' }>;
  /** The kernel killed a process of this machine meanwhile, because memory was short. */
  readonly isMemoryShort: boolean;
  /** Of its /tmp in memory; null where that is not its own. */
  readonly temporaryBytes: number | null;
  /** The end of its standard error, without what clients must not see. */
  readonly stderr: string;
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
  const shown = shownStderr(stderr);
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
  const noRoom = noRoomIn(stderr, temporaryBytes);
  const why = said(`${program} ${how}.${noRoom === null ? '' : ` ${noRoom}`}`);
  return errorOf(signal === null ? 'program_exit' : 'program_signal', why, known);
};

/** By which the kernel says that a process is over a limit. */
const LIMIT_SIGNALS: Readonly<Record<string, string>> = {
  SIGXCPU: 'a process of it took more processor time than its operator gives it (EXECUTOR_RUN_CPU_S)',
  SIGXFSZ: 'it wrote a larger file than its operator lets it (EXECUTOR_RUN_DISK_BYTES)',
};
/** The exit code of a shell whose child got SIGKILL. */
const KILLED_CHILD = 137;
