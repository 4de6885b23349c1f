import type { HostEnvironment } from '../runner-type.ts';
import type { RunnerWork } from '../runner.ts';
import type { Program } from './allow-list.ts';
import { formatMark, MARK_VARIABLE, type Mark } from '../../supervision/process-mark.ts';

/** Marks a process as one of this attempt. The supervisor has the marks too. */
export const attemptMarks = (work: RunnerWork, mark: Mark): Record<string, string> => ({
  RUNLEDGER_RUN_ID: work.run_id,
  RUNLEDGER_ATTEMPT: String(work.attempt),
  [MARK_VARIABLE]: formatMark(mark),
});

export interface EnvironmentParts {
  readonly work: RunnerWork;
  readonly program: Program;
  readonly host: HostEnvironment;
  readonly mark: Mark;
  /** The folder for temporary files of this run. */
  readonly temporary: string;
}

/**
 * The whole environment of a program. It inherits nothing from the executor, whose environment has credentials; what a
 * program needs beyond this is in its entry of the allow-list.
 */
export const programEnvironment = ({
  work,
  program,
  host,
  mark,
  temporary,
}: EnvironmentParts): Record<string, string> => ({
  PATH: host.PATH ?? '/usr/local/bin:/usr/bin:/bin',
  HOME: host.HOME ?? temporary,
  LANG: host.LANG ?? 'C.UTF-8',
  ...program.env,
  TMPDIR: temporary,
  // Indices then mean what nvidia-smi shows; CUDA's own order puts the fastest card first.
  CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
  CUDA_VISIBLE_DEVICES: work.slot.device,
  RUNLEDGER_OUTPUT_DIR: work.outputDir,
  ...(typeof work.traceparent === 'string' ? { TRACEPARENT: work.traceparent } : {}),
  ...attemptMarks(work, mark),
});
