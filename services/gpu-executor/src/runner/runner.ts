import type { RunnerChoice } from '@runledger/contracts/runners/runner-kinds';
import type { GpuSlot } from '../gpu/gpu-slots.ts';

/**
 * The port between the service and what executes a workflow. The contract, which `test/runner/runner-conformance.ts` checks:
 * - It keeps no state between runs, and executes as many runs at once as there are slots.
 * - Progress goes to the observer while the run executes; it never decreases.
 * - When the signal is aborted (a cancel, a time limit, a lost run, a stop), the workflow may clean up for the grace period. Then
 *   it is killed. The result is `cancelled` in both cases, with the files that exist by then.
 * - The promise settles only when nothing of the run is left on the machine. It rejects only because of a bug.
 */
export interface Runner {
  run(work: RunnerWork, observe: RunObserver, signal: AbortSignal): Promise<RunResult>;
}

export interface RunnerWork {
  readonly run_id: string;
  readonly workflow: unknown;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly gpu: string;
  readonly attempt: number;
  /** What the machine's record says about its runner, such as the name of a program. */
  readonly choice: RunnerChoice;
  readonly slot: GpuSlot;
  /** An empty folder of this attempt alone. The files that remain in it become the run's files. */
  readonly outputDir: string;
  /** W3C trace context, for a workflow with traces of its own. */
  readonly traceparent: string | null;
}

export interface RunObserver {
  progress(report: ProgressReport): void;
}

/** `progress` goes from 0 to 1 and never decreases. `live_status` is one short line, or null. */
export interface ProgressReport {
  readonly progress: number;
  readonly live_status: string | null;
}

export type RunResult =
  | { readonly outcome: 'succeeded'; readonly data: RunData; readonly files: readonly OutputFile[] }
  | {
      readonly outcome: 'failed';
      readonly message: string;
      readonly exit: RunExit;
      readonly files: readonly OutputFile[];
    }
  /** `forced`: it did not end within the grace period. */
  | { readonly outcome: 'cancelled'; readonly forced: boolean; readonly files: readonly OutputFile[] }
  /** The run did not begin. Another executor, or this one with other settings, may be able to execute it. */
  | { readonly outcome: 'not_runnable'; readonly why: string };

export type RunExit =
  | { readonly kind: 'code'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: string }
  /** How the workflow ended is not known, for example because its supervisor was killed. */
  | { readonly kind: 'unknown' };

/** Text outputs: a kind (`text`, `urls`, …) mapped to its values, in the order written. */
export type RunData = Readonly<Record<string, readonly string[]>>;

export interface OutputFile {
  readonly path: string;
  readonly filename: string;
  /** Folder below the output folder, with `/` between the parts; empty at the top. */
  readonly subfolder: string;
  readonly bytes: number;
}
