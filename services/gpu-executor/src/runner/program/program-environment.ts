import type { RunnerWork } from '../runner.ts';
import type { Program } from './allow-list.ts';
import { formatMark, MARK_VARIABLE, type Mark } from '../../supervision/process-mark.ts';

export interface HostEnvironment {
  readonly PATH?: string | undefined;
  readonly HOME?: string | undefined;
  readonly LANG?: string | undefined;
}

/** What tells a process apart as one of this attempt; the supervisor bears it too. */
export const attemptMarks = (work: RunnerWork, mark: Mark): Record<string, string> => ({
  RUNLEDGER_RUN_ID: work.run_id,
  RUNLEDGER_ATTEMPT: String(work.attempt),
  [MARK_VARIABLE]: formatMark(mark),
});

/**
 * All that a program sees of its surroundings. Nothing is inherited from the executor, whose environment holds
 * credentials; what a program needs beyond this stands in its entry of the allow-list.
 */
export const programEnvironment = (
  work: RunnerWork,
  program: Program,
  host: HostEnvironment,
  mark: Mark,
  temporaryFolder: string,
): Record<string, string> => ({
  PATH: host.PATH ?? '/usr/local/bin:/usr/bin:/bin',
  HOME: host.HOME ?? temporaryFolder,
  LANG: host.LANG ?? 'C.UTF-8',
  ...program.env,
  TMPDIR: temporaryFolder,
  // Indices then mean what nvidia-smi shows; CUDA's own order puts the fastest card first.
  CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
  CUDA_VISIBLE_DEVICES: work.slot.device,
  RUNLEDGER_OUTPUT_DIR: work.outputDir,
  ...(typeof work.traceparent === 'string' ? { TRACEPARENT: work.traceparent } : {}),
  ...attemptMarks(work, mark),
});
