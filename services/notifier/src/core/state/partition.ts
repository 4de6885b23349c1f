import type { PartitionPosition } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { LowWatermark } from './low-watermark.ts';

/** One partition of the origins, while this process holds it. */
export interface Partition {
  readonly number: number;
  /** Of RUNS: the broker's time of its creation. */
  readonly created: string;
  runs: LowWatermark;
  activity: LowWatermark;
  /** An earlier holder may have handled facts up to here. */
  mayBeSupersededUpTo: number;
  /** Of RUNS: the reconciliation has checked everything up to here. */
  sweptUpTo: number;
  /** Unsettled deliveries that the reconciliation checks again. */
  readonly pendingChecks: Map<RunId, PendingCheck>;
  /** Attempts and deferrals under way. */
  busy: number;
  /** It is being handed over: no more work starts. */
  closing: boolean;
  /** What was stored last. */
  stored: PartitionPosition | undefined;
  isStoring: boolean;
}

interface PendingCheck {
  readonly key: RunKey;
  readonly sequence: number;
}

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
    pendingChecks: new Map(),
    busy: 0,
    closing: false,
    stored: position,
    isStoring: false,
  };
};

/** The position of the partition. The next holder checks unsettled deliveries again. */
export const positionOf = ({
  created,
  runs,
  activity,
  sweptUpTo,
  pendingChecks,
}: Partition): PartitionPosition => ({
  version: 1,
  created,
  runs: runs.low(),
  activity: activity.low(),
  swept: pendingChecks.values().reduce((lowest, { sequence }) => Math.min(lowest, sequence - 1), sweptUpTo),
});

export const isSamePosition = (one: PartitionPosition | undefined, other: PartitionPosition): boolean =>
  one !== undefined &&
  one.runs === other.runs &&
  one.activity === other.activity &&
  one.swept === other.swept &&
  one.created === other.created;
