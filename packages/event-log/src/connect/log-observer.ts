/** Counts what happens at a log. Its methods must not throw. */
export interface LogObserver {
  connected(now: boolean): void;
  /** A fact was appended, came second, or is not known to be stored; and how long it took to know. */
  appended(how: 'appended' | 'conflict' | 'failed', seconds: number): void;
  /** A message was sent again, since the broker did not answer. */
  resent(): void;
  deadLettered(consumer: string): void;
  /** The broker refused what this client has no permission for. */
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
