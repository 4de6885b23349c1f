import {
  isExecuting,
  type ExecutingRun,
  type RunRequest,
  type RunState,
} from '@runledger/contracts/fold/run';
import { RUN_EVENTS, type RunEvent, type RunEventOf } from '@runledger/contracts/events/run-event';
import { shareOfIn } from '@runledger/scheduler/config';
import { createScheduling, type Scheduling } from '@runledger/scheduler/core/scheduling';
import type { RunUpdate, SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import type { FleetFact } from '@runledger/scheduler/follow-fleet';
import type { Comparison, OpenDecision } from './comparison.ts';
import type { RecordedDecision } from './verdict.ts';
import type { Survey } from './slice.ts';
import { decidedBy } from './decided.ts';
import { DerivedHeartbeats, type DerivedHeartbeat } from './derived-heartbeats.ts';
import type { ForeseenAssignment } from './foresight.ts';
import type { SchedulerSettings } from './settings.ts';

/** As services/scheduler/src/lead.ts. */
const MAX_TICK_MS = 1_000;
/** The clock of the core goes on in such parts of a tick, so that nothing is later than a tick by more than that. */
const STEPS_OF_TICK = 4;

const NOT_CONFIRMED =
  'the slice does not say when the executor confirmed that the attempt before in the slot had ended';

export interface PlayedSchedulerOptions {
  readonly survey: Survey;
  readonly settings: SchedulerSettings;
  readonly comparison: Comparison;
}

/** The core, and what makes it decide beside facts: the clock and heartbeats. Times are in milliseconds since 1970. */
export class PlayedScheduler {
  readonly scheduling: Scheduling;
  readonly #heartbeats: DerivedHeartbeats;
  readonly #comparison: Comparison;
  readonly #survey: Survey;
  readonly #tickMs: number;
  /** The time of the slice; 0 before its warm-up. */
  #nowMs = 0;
  #tickedMs = 0;
  /** The clock of the broker, as the core knows it. */
  #clockMs = 0;
  #leading = false;
  /** When the clock of the scheduler that was recorded showed what, as far as assignments further on say it. */
  readonly #clocks: number[] = [];

  constructor({ survey, settings, comparison }: PlayedSchedulerOptions) {
    const periodMs = settings.RUNLEDGER_HEARTBEAT_PERIOD_S * 1_000;
    this.#survey = survey;
    this.#comparison = comparison;
    this.#tickMs = Math.min(periodMs / 6, MAX_TICK_MS);
    this.#heartbeats = new DerivedHeartbeats({ periodMs, losses: survey.losses });
    this.scheduling = createScheduling({
      heartbeatPeriodMs: periodMs,
      cancelEnforceMs: settings.RUNLEDGER_CANCEL_ENFORCE_S * 1_000,
      shareOf: shareOfIn(settings),
    });
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get isLeading(): boolean {
    return this.#leading;
  }

  /** All that happens by itself until then: ticks and heartbeats, and decisions become overdue. */
  passTime(untilMs: number): void {
    if (this.#nowMs === 0) this.#begin(untilMs);
    for (let atMs = this.#nextMs(); atMs <= untilMs; atMs = this.#nextMs()) {
      this.#nowMs = Math.max(this.#nowMs, atMs);
      this.#beat(this.#heartbeats.due(this.#nowMs));
      this.#tickIfDue();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** An assignment that the slice holds a little further on. */
  foresee(assignment: ForeseenAssignment): void {
    const { clockMs } = assignment;
    if (clockMs !== undefined && clockMs > (this.#clocks.at(-1) ?? this.#clockMs)) this.#clocks.push(clockMs);
    this.#heartbeats.foresee(assignment, this.#nowMs);
  }

  /** A scheduler began to lead. */
  lead(): void {
    if (this.#nowMs === 0) return;
    this.#leading = true;
    this.#take({ type: 'lead', connectedMs: this.#nowMs });
    this.#heartbeats.onReset(this.#nowMs);
  }

  standBy(): void {
    if (!this.#leading) return;
    this.#leading = false;
    this.#comparison.dropAll('another scheduler began to lead before it was stored');
    this.#take({ type: 'stand_by' });
  }

  applyRunFact(update: RunUpdate): void {
    this.#comparison.close(update.key.run_id);
    this.#take({ type: 'run_fact', ...update });
  }

  applyFleetFact(fact: FleetFact): void {
    const { event } = fact;
    if ('executor_id' in event) this.#comparison.close(event.executor_id);
    this.#heartbeats.onFleetFact(event, this.#nowMs);
    this.#take({ type: 'fleet_fact', ...fact, connectedMs: this.#nowMs });
  }

  /** What executors say from now on follows from the facts of runs. */
  followRun(event: RunEvent, before: ExecutingRun | undefined, after: RunState): void {
    if (event.type === 'RunAssigned') return this.#heartbeats.onAssigned(event);
    if (!isExecuting(after)) {
      const isConfirmed = RUN_EVENTS[event.type].writer === 'executor';
      if (before) this.#heartbeats.onEnded(before.attempt, event.run_id, { isConfirmed, nowMs: this.#nowMs });
    } else if (event.type === 'RunStarted') {
      const { attempt, request } = after;
      if (attempt.placement?.choice === 'warm' || event.data.cold_start_s > 0)
        this.#heartbeats.onLoaded(attempt, versionOf(request), this.#nowMs);
      if (request.runner.kind === 'code') this.#heartbeats.onPrepared(attempt, request.workflow_version_id);
    }
  }

  /** What the scheduler must have known when it decided that: heartbeats that came earlier than here, and the time. */
  learnFrom(key: string, recorded: RecordedDecision, event: RunEvent | undefined): void {
    const heartbeats = event?.type === 'RunAssigned' ? this.#shownBy(event) : [];
    this.#beat(heartbeats);
    if (!this.#comparison.isDecided(key, recorded)) this.#tick(this.#nowMs);
    const open = this.#comparison.get(key);
    if (!open || heartbeats.length === 0 || this.#comparison.isDecided(key, recorded)) return;
    // It was decided without that: it is decided again.
    this.#comparison.close(key);
    this.#take({ type: 'settled', decision: open.decision, outcome: 'failed' });
  }

  /** The next tick whose time is known, heartbeat that cannot wait, or part of an interval of ticks. */
  #nextMs(): number {
    return Math.min(this.#clocks[0] ?? Infinity, this.#heartbeats.hurriedMs, this.#partMs());
  }

  #partMs(): number {
    return this.#tickedMs + this.#tickMs / STEPS_OF_TICK;
  }

  #tickIfDue(): void {
    const [clockMs = Infinity] = this.#clocks;
    if (clockMs <= this.#nowMs) {
      this.#clocks.shift();
      this.#tick(clockMs);
    }
    if (this.#partMs() > this.#nowMs) return;
    this.#tickedMs = this.#partMs();
    // What a tick triggers was decided within the interval of ticks, nobody knows when. Here it is at its end.
    this.#tick(this.#tickedMs - this.#tickMs);
    this.#endOverdue();
  }

  #begin(ms: number): void {
    this.#nowMs = this.#tickedMs = ms;
    this.#tick(ms - this.#tickMs);
    if (this.#survey.beginsWithoutLeader) return;
    this.lead();
    this.#beat(this.#heartbeats.due(this.#nowMs));
  }

  #take(input: SchedulerInput): void {
    for (const decision of this.scheduling.take(input)) {
      const isLoss = decision.type === 'declare_lost';
      const key = isLoss ? decision.executor : decision.key.run_id;
      const about = isLoss ? { executor_id: key } : { run_id: key };
      this.#comparison.add({ key, about, decision, decided: decidedBy(decision), atMs: this.#nowMs });
    }
  }

  #beat(heartbeats: Iterable<DerivedHeartbeat>): void {
    for (const { heartbeat, atMs } of heartbeats) {
      // Two heartbeats with one time would be the same one.
      const time = `${new Date(atMs).toISOString()} ${heartbeat.count}`;
      this.#take({ type: 'heartbeat', heartbeat, time, connectedMs: atMs });
    }
  }

  #tick(clockMs: number): void {
    this.#clockMs = Math.max(this.#clockMs, clockMs);
    this.#take({ type: 'tick', now: this.#clockMs, connectedMs: this.#nowMs });
  }

  #shownBy({ executor_id, data }: RunEventOf<'RunAssigned'>): DerivedHeartbeat[] {
    const slot = { executor_id: executor_id ?? '', slot: data.slot };
    const taken = this.#heartbeats.takenSlot(slot, this.#nowMs);
    if (data.reason?.choice === 'warm')
      return [...taken, ...this.#heartbeats.isLoaded(slot, versionOf(data), this.#nowMs)];
    const { workflow_version_id: version } = data;
    if (data.reason?.choice === 'prepared')
      return [
        ...taken,
        ...this.#heartbeats.notLoaded(version, this.#nowMs),
        ...this.#heartbeats.isPrepared(slot, version, this.#nowMs),
      ];
    if (data.reason?.choice !== 'cold') return taken;
    return [
      ...taken,
      ...this.#heartbeats.notLoaded(version, this.#nowMs),
      ...this.#heartbeats.notPrepared(version, this.#nowMs),
    ];
  }

  #endOverdue(): void {
    const overdue = this.#comparison.takeOverdue(this.#nowMs, (open) => this.#isBehindLeftover(open));
    for (const { decision } of overdue) this.#take({ type: 'settled', decision, outcome: 'refused' });
  }

  /** Whether the slot may not have been free, since its executor had not confirmed that the attempt before had ended. */
  #isBehindLeftover(open: OpenDecision): boolean {
    const { decision } = open;
    if (decision.type !== 'assign') return false;
    const slot = { executor_id: decision.executor, slot: decision.slot };
    const kept = this.#heartbeats.keepLeftover(slot, this.#nowMs);
    if (kept.length === 0) return false;
    this.#comparison.notCompared(open, NOT_CONFIRMED);
    this.#beat(kept);
    this.#take({ type: 'settled', decision, outcome: 'failed' });
    return true;
  }
}

const versionOf = ({
  workflow_version_id: version,
  runner,
}: Pick<RunRequest, 'workflow_version_id' | 'runner'>): Pick<RunRequest, 'runner'> & {
  readonly version: string;
} => ({ version, runner });
