import type { GpuSlot } from '../gpu/gpu-slots.ts';

/**
 * The port between the service and whatever executes a workflow. A runner holds no state between runs,
 * runs as many at once as there are slots, and settles only when nothing of the run is left on the machine.
 */
export interface Runner {
  run(work: RunnerWork, observe: RunObserver, signal: AbortSignal): Promise<RunResult>;
}

export interface RunnerWork {
  readonly run_id: string;
  readonly org_id?: string;
  readonly workflow: unknown;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly gpu: string;
  readonly attempt: number;
  /** The name under which the executor's own allow-list knows the program; never a command. */
  readonly program: string;
  readonly slot: GpuSlot;
  /** An empty folder of this attempt alone; what is left in it becomes the run's files. */
  readonly outputDir: string;
  /** W3C trace context, for a workflow that makes traces of its own. */
  readonly traceparent?: string | null;
}

export interface RunObserver {
  progress(report: ProgressReport): void;
}

/** `progress` runs from 0 to 1 and never goes back; `live_status` is one short line, null until one was said. */
export interface ProgressReport {
  progress: number;
  live_status: string | null;
}

export type RunResult =
  | { outcome: 'succeeded'; data: RunData; files: OutputFile[] }
  | { outcome: 'failed'; message: string; exit: RunExit; files: OutputFile[] }
  /** `forced`: it did not end by itself within the grace period. */
  | { outcome: 'cancelled'; forced: boolean; files: OutputFile[] }
  /** Nothing was begun: another executor, or this one after a correction, may be able to. */
  | { outcome: 'not_runnable'; why: string };

type RunExit =
  | { kind: 'code'; code: number }
  | { kind: 'signal'; signal: string }
  /** The process that watched over the program was itself killed, so how the program ended is not known. */
  | { kind: 'unknown' };

/** What a run says rather than stores: a kind (`text`, `urls`, …) mapped to its values, in the order said. */
export type RunData = Record<string, string[]>;

export interface OutputFile {
  readonly path: string;
  readonly filename: string;
  /** Folder below the output folder, with `/` between the parts; empty at the top. */
  readonly subfolder: string;
  readonly bytes: number;
}
