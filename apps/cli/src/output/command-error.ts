/** The command failed. The message says what happened, why, and what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export const EXIT = {
  done: 0,
  /** The watched run failed or timed out, or a verification found a difference. */
  negative: 1,
  /** The command failed: it was invalid, refused, or there was no answer. */
  notDone: 2,
  /** The watched run was cancelled, or the command was interrupted (Ctrl-C). */
  cancelled: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
