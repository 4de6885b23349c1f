/** An append that waits to be sent. */
export interface WaitingAppend {
  /** The filter of its fence: the chain that it is appended to. */
  readonly chain: string;
  readonly bytes: number;
}

interface InFlight {
  /** Appends that were sent one by one. */
  readonly singly: number;
  readonly isBatch: boolean;
}

interface NextAppends<Append> {
  /** Sent now, each by itself. */
  readonly singly: readonly Append[];
  /** Sent now, as one batch. */
  readonly together: readonly Append[];
  readonly waiting: readonly Append[];
}

/** The broker stages a batch in files, which takes as long as some 16 single appends, on fast and on slow disks (ADR 85). */
export const FEWEST_TOGETHER = 16;
/** While so many are in flight, the broker's disk is never idle. */
export const MOST_SINGLY = 16;
export const MOST_TOGETHER = 256;
/** The broker holds a whole batch in memory when it commits it. */
export const MOST_BYTES_TOGETHER = 1024 ** 2;

/**
 * What to send now, oldest first. Few appends go one by one at once. Those that come while many are in flight wait, and go together as
 * soon as they are enough, or one by one as others end.
 */
export const nextAppends = <Append extends WaitingAppend>(
  waiting: readonly Append[],
  { singly, isBatch }: InFlight,
): NextAppends<Append> => {
  const nothing = { singly: [], together: [], waiting };
  if (isBatch) return nothing;
  if (waiting.length >= FEWEST_TOGETHER) {
    const together = oneOfEachChain(waiting);
    if (together.size >= FEWEST_TOGETHER)
      return {
        singly: [],
        together: [...together],
        waiting: waiting.filter((append) => !together.has(append)),
      };
  }
  const free = MOST_SINGLY - singly;
  if (free <= 0 || waiting.length === 0) return nothing;
  return { singly: waiting.slice(0, free), together: [], waiting: waiting.slice(free) };
};

/** In a batch, the broker compares each fence with what was stored before the batch: two appends on one head would both be stored. */
const oneOfEachChain = <Append extends WaitingAppend>(waiting: readonly Append[]): ReadonlySet<Append> => {
  const chains = new Set<string>();
  const taken = new Set<Append>();
  let bytes = 0;
  for (const append of waiting) {
    if (taken.size === MOST_TOGETHER) break;
    if (chains.has(append.chain)) continue;
    if (bytes + append.bytes > MOST_BYTES_TOGETHER) break;
    chains.add(append.chain);
    taken.add(append);
    bytes += append.bytes;
  }
  return taken;
};
