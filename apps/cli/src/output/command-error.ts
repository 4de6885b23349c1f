/** Says on standard error what happened, why, and what to do next; the command could not be done. */
export class CommandError extends Error {
  override readonly name = 'Explained';
}

export const EXIT = {
  done: 0,
  /** The run that was watched failed or timed out. */
  runFailed: 1,
  /** The command could not be done: it was written wrongly, refused, or nothing answered. */
  notDone: 2,
  /** The run that was watched was cancelled, or the watching was (Ctrl-C). */
  cancelled: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
