/** The part of a logger that the log uses; pino has it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** For tools without log output. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Whether a part works, for the check of its service. */
export type Readiness =
  | { readonly ok: true; /** What an operator should know nevertheless. */ readonly note?: string }
  | { readonly ok: false; readonly why: string };

/** Counts events of a log client. Its methods must not throw. */
export interface LogObserver {
  connected(now: boolean): void;
  /** An append ended: stored, in conflict, or with an unknown outcome; and how long it took. */
  appended(how: 'appended' | 'conflict' | 'failed', seconds: number): void;
  /** A message was sent again, because the broker did not respond. */
  resent(): void;
  /** `executor`: the name of the one that wrote the message, or could not handle its own. Also when it is not stored, since there are too many of that executor. */
  deadLettered(consumer: string, executor?: string): void;
  /** The broker refused a request for which this client has no permission. */
  notAllowed(): void;
}

/** Counts nothing. */
export const NO_OBSERVER: LogObserver = {
  connected: () => undefined,
  appended: () => undefined,
  resent: () => undefined,
  deadLettered: () => undefined,
  notAllowed: () => undefined,
};

/** Does the work, and reports its outcome to the observer. */
export const observeAppend = async <Appended extends { readonly kind: 'appended' | 'conflict' }>(
  observer: LogObserver,
  work: () => Promise<Appended>,
): Promise<Appended> => {
  const began = performance.now();
  let how: 'appended' | 'conflict' | 'failed' = 'failed';
  try {
    const appended = await work();
    how = appended.kind;
    return appended;
  } finally {
    observer.appended(how, (performance.now() - began) / 1_000);
  }
};
