import type { KeptModel } from '@runledger/contracts/catalogue/code';
import type { InputTarget } from '@runledger/contracts/catalogue/workflow-inputs';
import type { AttemptError } from '@runledger/contracts/events/run-error';
import type { RunWarning } from '@runledger/contracts/events/run-warning';
import type { LogStream } from '@runledger/contracts/run-logs';
import type { RunnerChoice } from '@runledger/contracts/catalogue/runners';
import { MAX_LIVE_STATUS } from '@runledger/contracts/limits';
import type { GpuSlot } from '../gpu-slots.ts';
import type { FetchedFile, FileToFetch } from '../transfer/input-file.ts';

/**
 * The port between the service and what executes a workflow. The contract, which `test/runners/runner-conformance.ts` checks:
 * - It keeps no state between runs, and executes as many runs at once as there are slots.
 * - Progress goes to the observer while the run executes; it never decreases.
 * - What the workflow writes goes to the observer line by line, as it is written. What are messages to the runner is no line of its log.
 * - When the signal is aborted (a cancel, a time limit, a lost run, a stop), the workflow may clean up for the grace period. Then
 *   it is killed. The result is `cancelled` in both cases, with the files that exist by then.
 * - The promise settles only when nothing of the run is left on the machine. It rejects only because of a bug.
 */
export interface Runner {
  run(work: RunnerWork, observe: RunObserver, signal: AbortSignal): Promise<RunResult>;
}

export interface RunnerWork {
  readonly org_id: string;
  /** Null when the scheduler is of a release that does not say it. */
  readonly deployment_id: string | null;
  readonly run_id: string;
  readonly workflow: unknown;
  readonly inputs: Readonly<Record<string, unknown>>;
  /** The names of the inputs that are files. Every other one is what it is, also a text that is the name of a file. */
  readonly fileInputs: readonly string[];
  /** The names of the inputs that are secret. Their values are never shown. */
  readonly secretInputs: readonly string[];
  /** Of the organisation, for the code of a version: the values of the variables in `secrets` of its manifest. They are never shown. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Which nodes of the workflow take the inputs, where its version says so. */
  readonly inputTargets: readonly InputTarget[];
  readonly gpu: string;
  readonly attempt: number;
  readonly workflow_version_id: string;
  /** What the machine's record says about its runner, such as the name of a program. */
  readonly choice: RunnerChoice;
  readonly slot: GpuSlot;
  /**
   * A folder of this attempt alone with the files of its inputs. An input that is a file has the file's name in it as its value, and one
   * that is a list of files a list of such names. Without such an input there may be no folder.
   */
  readonly inputDir: string;
  /** For a folder of this attempt alone, which the runner makes when it has a file for it. The files that remain in it become the run's files. */
  readonly outputDir: string;
  /** Of the version, from the gateway. */
  readonly fetchCode: FetchCode;
  /** Of the version, where the gateway keeps them. */
  readonly fetchKeptModel: FetchKeptModel;
  /** W3C trace context, for a workflow with traces of its own. */
  readonly traceparent: string | null;
}

/**
 * The archive with the code of a version, as a file at `path`. Waits while the gateway is unavailable. What arrives is what the gateway has;
 * whether that is the code of the version, the caller knows.
 */
export type FetchCode = (path: string, stop: AbortSignal) => Promise<FetchedFile>;

/** Weights that the gateway keeps, behind the part of them that is there. Waits, and checks nothing, as `FetchCode`. */
export type FetchKeptModel = (model: KeptModel, file: FileToFetch, stop: AbortSignal) => Promise<FetchedFile>;

export interface RunObserver {
  /**
   * Called once, when everything that executes the workflow is loaded, with how long this run waited for that: 0 when it was warm, and with
   * the hash of the code that was loaded, null when nobody knows it, and that of its packages where the executor has installed them. What of
   * the time was for preparing is `preparing`; null when nothing was. The workflow executes only if it resolves with true; else the run was
   * stopped, and the result is `cancelled`.
   */
  begin(
    loadingMs: number,
    code_sha256: string | null,
    environment_sha256?: string | null,
    preparing?: Preparing | null,
  ): Promise<boolean>;
  progress(report: ProgressReport): void;
  /** A line of the run's log. It may come in any number: what is not kept costs next to nothing. */
  log(line: LogLine): void;
  /**
   * The text without what the deployment masks. For text of the workflow that the runner cuts: lines of the log, and messages of
   * errors, are masked anyway.
   */
  masked(text: string): string;
}

/** How long a run waited for what its version needs, by what that was; also when another run prepared it. */
export interface Preparing {
  readonly fetchMs: number;
  readonly environmentMs: number;
  readonly weightsMs: number;
}

export interface LogLine {
  /** `runner`: the runner wrote it, and not the workflow. */
  readonly stream: LogStream;
  /** Without its line end. No more than 64 KiB: the runner cuts longer ones. */
  readonly line: string;
}

/** `progress` goes from 0 to 1 and never decreases. `live_status` is one short line, or null. */
export interface ProgressReport {
  readonly progress: number;
  readonly live_status: string | null;
}

export type RunResult =
  | {
      readonly outcome: 'succeeded';
      /** What no node made. */
      readonly data: RunData;
      /** What the nodes of the workflow made, in their order; left out by runners without nodes. */
      readonly nodes?: readonly NodeData[];
      readonly files: readonly OutputFile[];
      /** What is odd about it, for clients; left out without any. */
      readonly warnings?: readonly RunWarning[];
    }
  /** Its message is at most as long as an event may have it, and has nothing that clients may not read. */
  | { readonly outcome: 'failed'; readonly error: AttemptError; readonly files: readonly OutputFile[] }
  /** `forced`: it did not end within the grace period. */
  | { readonly outcome: 'cancelled'; readonly forced: boolean; readonly files: readonly OutputFile[] }
  /** The run did not begin, and clients may read why. Another executor, or this one with other settings, may be able to execute it. */
  | { readonly outcome: 'not_runnable'; readonly why: string };

/** Text outputs: a kind (`text`, `urls`, …) mapped to its values, in the order written. */
export type RunData = Readonly<Record<string, readonly string[]>>;

/** A node of a workflow, as the outputs show it. */
export interface OutputNode {
  readonly id: string;
  readonly class_type: string;
  /** What the workflow calls it; null for its class only. */
  readonly title: string | null;
  /** What the node calls its output; null when it does not. */
  readonly output_id: string | null;
}

export interface NodeData {
  readonly node: OutputNode;
  readonly data: RunData;
}

export interface OutputFile {
  readonly path: string;
  readonly filename: string;
  /** Folder below the output folder, with `/` between the parts; empty at the top. */
  readonly subfolder: string;
  readonly bytes: number;
  /** Distinguishes the file from another one that takes its name later. */
  readonly identity: string;
  /** Left out when no node made it, or nobody knows which. */
  readonly node?: OutputNode;
}

/** One line without control characters, at most as long as the API allows. No character is cut in two. */
export const liveStatus = (text: string): string => {
  let kept = '';
  for (const character of text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ').trim()) {
    if (kept.length + character.length > MAX_LIVE_STATUS) break;
    kept += character;
  }
  return kept.trim();
};
