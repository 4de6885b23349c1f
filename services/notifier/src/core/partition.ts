import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';

/** One partition of the origins, while this process holds it. */
export interface Partition {
  readonly number: number;
  /** Of RUNS: the broker's time of its creation. */
  readonly created: string;
  runs: LowWatermark;
  activity: LowWatermark;
  /** An earlier holder may have handled facts up to here. */
  mayBeSupersededUpTo: number;
  /** Of RUNS: everything up to here is settled, as the reconciliation has seen. */
  sweptUpTo: number;
  /** The present round of the reconciliation. */
  round: Round | undefined;
  /** What only the log holds. The reconciliation sends it. */
  left: Overflow;
  /** Attempts and deferrals under way. */
  busy: number;
  /** It is being handed over: no more work starts. */
  closing: boolean;
  /** What was stored last. */
  stored: PartitionPosition | undefined;
  isStoring: boolean;
}

/** Deliveries that are neither in TIMERS nor, as a rule, in memory. */
interface Overflow {
  /** The lowest sequence of RUNS; Infinity for none. */
  readonly from: number;
  readonly count: number;
}

/** One round of the reconciliation through the part of RUNS in which something is unsettled. */
interface Round {
  /** The low watermark when it began. */
  readonly upTo: number;
  /** The first unsettled one that it found; Infinity until there is one. */
  firstUnsettled: number;
  left: Overflow;
}

export const NO_OVERFLOW: Overflow = { from: Infinity, count: 0 };

export const withOverflowAt = ({ from, count }: Overflow, sequence: number): Overflow => ({
  from: Math.min(from, sequence),
  count: count + 1,
});

/** The log as it is when a process begins to hold a partition. */
export interface PartitionStart {
  readonly number: number;
  readonly created: string;
  /** The last sequence of RUNS. */
  readonly lastSequence: number;
  /** The last sequence of ACTIVITY: progress before it needs no notification. */
  readonly lastReport: number;
  /** As an earlier holder left it. */
  readonly position: PartitionPosition | undefined;
}

export const startPartition = (start: PartitionStart): Partition => {
  const { number, created, lastSequence, lastReport } = start;
  const position = start.position?.created === created ? start.position : undefined;
  return {
    number,
    created,
    runs: new LowWatermark(position?.runs ?? 0),
    activity: new LowWatermark(position?.activity ?? lastReport),
    mayBeSupersededUpTo: lastSequence,
    sweptUpTo: position?.swept ?? 0,
    round: undefined,
    // How many is known after a round.
    left: position?.left ? { from: position.left, count: 0 } : NO_OVERFLOW,
    busy: 0,
    closing: false,
    stored: position,
    isStoring: false,
  };
};

export const positionOf = ({ created, runs, activity, sweptUpTo, left }: Partition): PartitionPosition => ({
  version: 1,
  created,
  runs: runs.low(),
  activity: activity.low(),
  swept: sweptUpTo,
  left: left.from === Infinity ? 0 : left.from,
});

export const isSamePosition = (one: PartitionPosition | undefined, other: PartitionPosition): boolean =>
  one !== undefined &&
  one.runs === other.runs &&
  one.activity === other.activity &&
  one.swept === other.swept &&
  one.left === other.left &&
  one.created === other.created;

/** Up to where everything is settled, in a stream that is taken in order and settled in any order. */
export class LowWatermark {
  /** How often each is open, in the order of the sequences, since they are taken in order. */
  readonly #open = new Map<number, number>();
  #taken: number;

  constructor(from: number) {
    this.#taken = from;
  }

  /** It is taken. It is settled when `settle` is called as often as `open`. */
  open(sequence: number): void {
    this.#open.set(sequence, (this.#open.get(sequence) ?? 0) + 1);
  }

  settle(sequence: number): void {
    const times = this.#open.get(sequence) ?? 0;
    if (times > 1) this.#open.set(sequence, times - 1);
    else this.#open.delete(sequence);
  }

  /** Everything up to here was taken. */
  take(sequence: number): void {
    this.#taken = Math.max(this.#taken, sequence);
  }

  taken(): number {
    return this.#taken;
  }

  /** Everything up to here is settled. */
  low(): number {
    const [first] = this.#open.keys();
    return first === undefined ? this.#taken : first - 1;
  }
}
