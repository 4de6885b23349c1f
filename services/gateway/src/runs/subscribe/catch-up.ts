import { backoff } from '@runledger/resilience/backoff';

export interface CatchUpOptions {
  /**
   * Reads up to this sequence, or up to the end of the log when it is undefined. Resolves with the sequence of the last
   * message that was read.
   */
  readonly read: (upTo: number | undefined) => Promise<number>;
  /** Limits how many reads run at once. */
  readonly limit: (read: () => Promise<void>) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Reads until everything that is known to exist is read. */
export interface CatchUp {
  /** The log has a message at this sequence. */
  readonly onMessage: (sequence: number) => void;
  /** Messages may have been missed. */
  readonly onGap: () => void;
  readonly isClosed: () => boolean;
  readonly close: () => void;
}

const RETRY_DELAY_MS = { firstMs: 250, longestMs: 5_000 } as const;

/** One read at a time, and another one after a failure. Begins at once. */
export const startCatchUp = ({ read, limit, onError }: CatchUpOptions): CatchUp => {
  let readTo = 0;
  let announced = 0;
  /** Messages may exist that were not announced, so the next read goes to the end of the log. */
  let hasGap = true;
  let isReading = false;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;
  const delays = backoff(RETRY_DELAY_MS);

  const readOnce = async (): Promise<void> => {
    if (isClosed) return;
    const upTo = hasGap ? undefined : announced;
    hasGap = false;
    try {
      readTo = await read(upTo);
    } catch (error) {
      hasGap = true;
      throw error;
    }
  };
  const isBehind = (): boolean => !isClosed && (hasGap || announced > readTo);
  const run = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    clearTimeout(retry);
    try {
      while (isBehind()) {
        const before = announced;
        await limit(readOnce);
        delays.reset();
        // An announced message that cannot be read is lost: the log has lost its end.
        if (announced === before) announced = readTo;
      }
    } catch (error) {
      onError(error);
      if (!isClosed) retry = setTimeout(() => void run(), delays.next());
    } finally {
      isReading = false;
    }
  };

  void run();
  return {
    onMessage: (sequence) => {
      announced = Math.max(announced, sequence);
      void run();
    },
    onGap: () => {
      hasGap = true;
      void run();
    },
    isClosed: () => isClosed,
    close: () => {
      isClosed = true;
      clearTimeout(retry);
    },
  };
};
