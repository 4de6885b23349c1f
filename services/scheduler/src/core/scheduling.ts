import type { FleetEvent } from '@runledger/contracts/events/fleet-event';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import type { ExecutorId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { isNew, onDrainedName, onFleetFact, onHeartbeat } from './on-fleet-fact.ts';
import { decideWithoutWarm, fillAllSlots } from './decide.ts';
import { onLead, onStandBy, onReset, onTick } from './on-tick.ts';
import { historyOf, onRunFact, onRunReadAgain, onRunUnreadable, onSettled } from './on-run.ts';
import { mayBegin } from './former-executors.ts';
import type { Decision } from './decision.ts';
import type { DurationRecord } from './durations.ts';
import type { DrainedName } from './fleet.ts';
import type { RegisteredExecutor } from './registered-executor.ts';
import { queriesOn, type Queries } from './queries.ts';
import type { PackedRows } from './runs/packed-rows.ts';
import type { KnownRun } from './runs/known-run.ts';
import type { QueueLength } from './runs/live-runs.ts';
import type { FrozenRuns } from './runs/run-table.ts';
import type { SchedulerInput } from './scheduler-input.ts';
import { setLogSize, emptyState, type SchedulerState, type SchedulingSettings } from './scheduler-state.ts';

/**
 * The decisions of the scheduler. Facts, heartbeats and time go in, decisions come out; the same inputs give the same
 * decisions. Between two inputs no run waits that a free slot can take, unless the log has no room for its attempt, or it waits for a
 * busy slot that has its version loaded or prepared, within the `warm_wait_s` of its deployment: others take the free slot meanwhile.
 */
export interface Scheduling {
  take(input: SchedulerInput): readonly Decision[];
  /** The history that the next message of the run follows. */
  historyOf(key: RunKey): RunHistory;
  /** Whether a decision on the run is being stored. */
  isDeciding(key: RunKey): boolean;
  /** Whether nothing later is known about the executor or the name. */
  isNew(event: FleetEvent, sequence: number): boolean;
  /** Every run that has not ended. */
  runs(): Iterable<KnownRun>;
  /** The same at this moment, however long it takes to read them. */
  freeze(): FrozenRuns;
  /** Adds rows that were frozen, before anything else is known of their runs. */
  restore(pages: readonly PackedRows[]): void;
  drainedNames(): Iterable<DrainedName>;
  /** How long runs held their slots. */
  durations(): readonly DurationRecord[];
  executors(): Iterable<RegisteredExecutor>;
  /** Those that may begin what is assigned to them: no fact says that their process has ended. */
  mayBegin(): readonly ExecutorId[];
  /** By GPU model; models without a queue are left out. */
  queues(): Iterable<QueueLength>;
  readonly queries: Queries;
}

export const createScheduling = (settings: SchedulingSettings): Scheduling => {
  const state = emptyState(settings);
  return {
    take: (input) => {
      const decisions = decisionsOn(state, input);
      return state.fleet.warm.some(({ hasVanished }) => hasVanished)
        ? [...decisions, ...decideWithoutWarm(state)]
        : decisions;
    },
    historyOf: (key) => historyOf(state, key),
    isDeciding: (key) => Boolean(state.runs.get(key)?.pending),
    isNew: (event, sequence) => isNew(state, event, sequence),
    runs: () => state.runs.all(),
    freeze: () => state.runs.freeze(),
    restore: (pages) => state.runs.restore(pages, state.requests),
    drainedNames: () => state.drained.all(),
    durations: () => state.durations.all(),
    executors: () => state.fleet.executors.values(),
    mayBegin: () => mayBegin(state.fleet, state.former),
    queues: () => state.runs.queues(),
    queries: queriesOn(state),
  };
};

const decisionsOn = (state: SchedulerState, input: SchedulerInput): readonly Decision[] => {
  switch (input.type) {
    case 'run_fact':
      return onRunFact(state, input);
    case 'run_read_again':
      return onRunReadAgain(state, input);
    case 'run_unreadable':
      return onRunUnreadable(state, input.key);
    case 'fleet_fact':
      return onFleetFact(state, input);
    case 'drained_name':
      return onDrainedName(state, input.drained);
    case 'durations':
      state.durations.restore(input.records);
      return [];
    case 'heartbeat':
      return onHeartbeat(state, input);
    case 'tick':
      return onTick(state, input.now, input.connectedMs);
    case 'log_size':
      setLogSize(state, input);
      return fillAllSlots(state);
    case 'reset_heartbeats':
      onReset(state, input.connectedMs, { forget: input.because === 'reconnect' });
      return [];
    case 'lead':
      return onLead(state, input.connectedMs);
    case 'stand_by':
      onStandBy(state);
      return [];
    case 'settled':
      return onSettled(state, input.decision, input.outcome);
  }
};
