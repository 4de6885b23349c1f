/** What signatures are checked with. */
export interface KnownSecrets {
  readonly current: () => readonly string[];
  /** Asks for them again, unless that was done a moment ago. */
  readonly refresh: () => Promise<void>;
}

export const fixedSecret = (secret: string): KnownSecrets => ({
  current: () => [secret],
  refresh: async () => undefined,
});

/** A secret may be rotated, and the service that knows it started, after the listening has begun. */
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
