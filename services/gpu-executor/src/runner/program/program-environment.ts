import { processEnvironment, type HostEnvironment } from '../../supervision/process-environment.ts';
import type { Mark } from '../../supervision/stray-processes.ts';
import type { OperatorCommand } from '../operator-command.ts';
import type { RunnerWork } from '../runner.ts';

export interface EnvironmentParts {
  readonly work: RunnerWork;
  readonly program: OperatorCommand;
  readonly host: HostEnvironment;
  readonly mark: Mark;
  /** The folder for temporary files of this run. */
  readonly temporary: string;
  /** That of its deployment; null without one. */
  readonly cache: string | null;
}

/** The whole environment of a program with one process for each run. */
export const programEnvironment = ({
  work,
  program: { env },
  host,
  mark,
  temporary,
  cache,
}: EnvironmentParts): Record<string, string> => ({
  // What Python has printed is lost with a process that is killed, and comes late to whoever follows the log.
  PYTHONUNBUFFERED: '1',
  ...processEnvironment({ host, env, ...work.slot, temporary, cache, mark }),
  RUNLEDGER_INPUT_DIR: work.inputDir,
  RUNLEDGER_OUTPUT_DIR: work.outputDir,
  ...(typeof work.traceparent === 'string' ? { TRACEPARENT: work.traceparent } : {}),
  RUNLEDGER_RUN_ID: work.run_id,
  RUNLEDGER_ATTEMPT: String(work.attempt),
});
