import type { FinalStatus } from '@runledger/contracts/fold/run';

/** A run that has ended, in virtual milliseconds. */
export interface RunResult {
  readonly run: number;
  readonly organisation: number;
  readonly deployment: number;
  readonly status: FinalStatus;
  readonly queuedMs: number;
  /** When its last attempt got its slot; null when it had none. */
  readonly assignedMs: number | null;
  readonly startedMs: number | null;
  readonly endedMs: number;
  /** Of its last attempt, such as `executor-2.000000000001 slot 0`. */
  readonly slot: string | null;
  /** Of its slot, else the first one that it asked for. */
  readonly gpu: string;
  readonly attempts: number;
}
