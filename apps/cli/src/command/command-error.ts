/** The command failed. The message says what happened, why, and what to do next. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** When the service refused a request. */
  readonly refusal: ServiceRefusal | undefined;

  constructor(message: string, options: ErrorOptions & { readonly refusal?: ServiceRefusal } = {}) {
    super(message, options);
    this.refusal = options.refusal;
  }
}

/** What a refusal of the service is for programs. Code and request id are null in one of an earlier release, or of something in between. */
export interface ServiceRefusal {
  readonly status: number;
  readonly code: string | null;
  readonly request_id: string | null;
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

/** Removes control characters from text that a program or a client wrote. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();

export const shorten = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, Math.max(0, length - 1))}…` : text;
