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
  ask: () => Promise<readonly string[]>,
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
  let asking: Promise<void> | undefined;
  let askedAt = -Infinity;
  const askNow = async (): Promise<void> => {
    askedAt = clock();
    try {
      known = await ask();
    } catch (error) {
      onFailure(error);
    } finally {
      asking = undefined;
    }
  };
  return {
    current: () => known,
    refresh: async () => {
      if (asking === undefined && clock() - askedAt < everyMs) return;
      asking ??= askNow();
      await asking;
    },
  };
};
