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
