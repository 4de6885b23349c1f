/** The secrets that signatures are checked with. */
export interface KnownSecrets {
  readonly current: () => readonly string[];
  /** Reads the secrets again, at most once in a while. */
  readonly refresh: () => Promise<void>;
}

export const fixedSecret = (secret: string): KnownSecrets => ({
  current: () => [secret],
  refresh: async () => undefined,
});

/** Secrets from the service. They may change, and the service may start later. */
export const fetchedSecrets = (
  read: () => Promise<readonly string[]>,
  {
    onFailure,
    everyMs,
    clock,
  }: {
    readonly onFailure: (error: unknown) => void;
    readonly everyMs: number;
    readonly clock: () => number;
  },
): KnownSecrets => {
  let known: readonly string[] = [];
  let reading: Promise<void> | undefined;
  let readAt = -Infinity;
  const readNow = async (): Promise<void> => {
    readAt = clock();
    try {
      known = await read();
    } catch (error) {
      onFailure(error);
    } finally {
      reading = undefined;
    }
  };
  return {
    current: () => known,
    refresh: async () => {
      if (reading === undefined && clock() - readAt < everyMs) return;
      reading ??= readNow();
      await reading;
    },
  };
};
