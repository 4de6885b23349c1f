import { Durations } from '../forecast/durations.ts';
import { FormerExecutors } from '../fleet/former-executors.ts';
import { DrainedNames } from '../fleet/drained-names.ts';
import { emptyFleet, type Fleet } from '../fleet/fleet.ts';
import { LiveRuns, type LiveRunsSettings } from '../runs/live-runs.ts';
import { RecentStarts } from '../counts/recent-starts.ts';
import { OrphanedRuns } from '../fleet/orphaned-runs.ts';
import { SharedRequests } from '../runs/shared-requests.ts';
import { newAttemptRoom, type AttemptRoom } from './attempt-room.ts';
import { SlotAllocation } from '../slots/slot-allocation.ts';

export interface SchedulingSettings extends LiveRunsSettings {
  /** An executor without a heartbeat for this connected time is lost. */
  readonly heartbeatPeriodMs: number;
}

/**
 * Everything that the scheduler knows. The functions in `decide/` apply an input and return decisions. They mutate the
 * state, because it indexes a million runs.
 */
export interface SchedulerState {
  readonly settings: SchedulingSettings;
  readonly runs: LiveRuns;
  readonly requests: SharedRequests;
  readonly fleet: Fleet;
  readonly former: FormerExecutors;
  readonly drained: DrainedNames;
  readonly orphans: OrphanedRuns;
  readonly room: AttemptRoom;
  readonly starts: RecentStarts;
  readonly durations: Durations;
  leading: boolean;
  /** The broker's clock at the last tick, in milliseconds; 0 before the first. */
  nowMs: number;
  /** Connected time of the last tick. */
  connectedMs: number;
  /** Connected time before which no deadline counts, so that facts that executors could not store before can arrive. */
  deadlinesFromMs: number;
}

export const emptyState = (settings: SchedulingSettings): SchedulerState => {
  const allocation = new SlotAllocation();
  return {
    settings,
    runs: new LiveRuns(allocation, settings),
    requests: new SharedRequests(),
    fleet: emptyFleet(allocation, settings.cancelEnforceMs),
    former: new FormerExecutors(),
    drained: new DrainedNames(),
    orphans: new OrphanedRuns(),
    room: newAttemptRoom(),
    starts: new RecentStarts(),
    durations: new Durations(),
    leading: false,
    nowMs: 0,
    connectedMs: 0,
    deadlinesFromMs: 0,
  };
};
