/** A run with its times in milliseconds: as the simulator or the log tells it. */
export interface PlayedRun {
  readonly organisation: string;
  readonly deployment: string;
  readonly gpu: string;
  readonly queuedMs: number;
  /** When its last attempt got its slot; null when it had none. */
  readonly assignedMs: number | null;
  /** Its end, or that of the time that is looked at. */
  readonly endedMs: number;
  /** Of its last attempt. */
  readonly slot: string | null;
}

/** Until it had its slot, or ended without one. */
export const waitMs = ({ queuedMs, assignedMs, endedMs }: PlayedRun): number =>
  (assignedMs ?? endedMs) - queuedMs;
