import type { FleetEvent } from '@runledger/contracts/events/fleet-event';
import type { FleetRequest } from '@runledger/contracts/events/fleet-request';
import { EMPTY_HISTORY, type History } from '@runledger/contracts/fold/run-chain';
import { executorId, executorName, isExecutorId, type ExecutorId } from '@runledger/contracts/ids';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { Answers } from './queries/answers.ts';
import type { Decision, RunDecision } from './decisions/decision.ts';
import { requirementsKey, type Requirements } from './slots/requirements.ts';
import { FormerExecutors } from './fleet/former-executors.ts';
import { DrainedNames, type Drain, type DrainedName } from './fleet/drained-names.ts';
import type { DeadlineSettings } from './runs/deadline.ts';
import { Fleet } from './fleet/fleet.ts';
import { knownRun, type KnownRun } from './runs/known-run.ts';
import { LiveRuns, type QueueLength } from './runs/live-runs.ts';
import { isSameSlot, SlotAllocation, type SlotRef } from './slots/slot-allocation.ts';
import { OrphanedRuns } from './runs/orphaned-runs.ts';
import { expired } from './expired.ts';
import { recovery } from './recovery.ts';
import type { RegisteredExecutor, Registration, Slot } from './fleet/registered-executor.ts';
import { runName } from './slots/run-name.ts';
import type { Outcome, SchedulerInput, RunUpdate } from './scheduler-input.ts';
import { unresponsive, type Departure } from './decisions/messages.ts';

export type SchedulingSettings = DeadlineSettings & {
  /** An executor that is not heard for so long, in connected time, is lost. */
  readonly heartbeatPeriodMs: number;
};

/**
 * All that the scheduler decides, and nothing else: facts, beats and time go in, decisions come out, the same ones for
 * the same inputs. Between two inputs no run waits that a free slot could take.
 */
export class Scheduling {
  /** What is known, for those who ask. */
  readonly answers: Answers;
  readonly #settings: SchedulingSettings;
  readonly #runs: LiveRuns;
  readonly #fleet: Fleet;
  readonly #departed = new FormerExecutors();
  readonly #drained = new DrainedNames();
  readonly #orphans = new OrphanedRuns();
  #leading = false;
  /** Of the last tick. */
  #connectedMs = 0;
  /** Until then nothing ends for its time: what executors could not tell before must have a chance to arrive. */
  #quietUntil = 0;
  #decisions: Decision[] = [];

  constructor(settings: SchedulingSettings) {
    const occupancy = new SlotAllocation();
    this.#settings = settings;
    this.#runs = new LiveRuns(occupancy, settings);
    this.#fleet = new Fleet(occupancy, settings.cancelEnforceMs);
    this.answers = new Answers({
      runs: this.#runs,
      fleet: this.#fleet,
      drained: this.#drained,
      silentAfterMs: settings.heartbeatPeriodMs / 2,
      now: () => this.#connectedMs,
    });
  }

  take(input: SchedulerInput): readonly Decision[] {
    this.#decisions = [];
    switch (input.type) {
      case 'run_fact':
        if (input.history.head > this.historyOf(input.key).head) this.#replaceRun(input);
        break;
      case 'run_read_again':
        if (input.history.head >= this.historyOf(input.key).head) this.#replaceRun(input);
        break;
      case 'run_unreadable':
        this.#runUnreadable(input.key);
        break;
      case 'fleet_fact':
        this.#fleetFact(input);
        break;
      case 'drained_name': {
        const { name, sequence, drain } = input.drained;
        if (this.#drained.isNew(name, sequence)) this.#setDrain(name, sequence, drain);
        break;
      }
      case 'heartbeat':
        this.#heartbeat(input);
        break;
      case 'tick':
        this.#tick(input.now, input.connectedMs);
        break;
      case 'reset_beats':
        this.#resetBeats(input.connectedMs, { forget: input.because === 'reconnect' });
        break;
      case 'lead':
        this.#lead(input.connectedMs);
        break;
      case 'stand_by':
        this.#standBy();
        break;
      case 'settled':
        this.#settled(input.decision, input.outcome);
        break;
    }
    return this.#decisions;
  }

  /** What the next message of the run is to be taken into. */
  historyOf(key: RunKey): History {
    const known = this.#runs.get(runName(key));
    return known ? { head: known.head, run: known.run } : EMPTY_HISTORY;
  }

  /** Whether a decision on the run is being stored. */
  isDeciding(key: RunKey): boolean {
    return Boolean(this.#runs.get(runName(key))?.pending);
  }

  /** Whether nothing later is known of what the fact is about. */
  isNew(event: FleetEvent, sequence: number): boolean {
    if ('executor_name' in event) return this.#drained.isNew(event.executor_name, sequence);
    if (!isExecutorId(event.executor_id)) return false;
    const id = executorId(event.executor_id);
    return sequence > (this.#fleet.get(id)?.sequence ?? this.#departed.sequenceOf(id));
  }

  /** Every run that has not ended. */
  runs(): Iterable<KnownRun> {
    return this.#runs.all();
  }

  drainedNames(): Iterable<DrainedName> {
    return this.#drained.all();
  }

  executors(): Iterable<RegisteredExecutor> {
    return this.#fleet.all();
  }

  /** By GPU model; models without a queue are left out. */
  queues(): Iterable<QueueLength> {
    return this.#runs.queues();
  }

  #replaceRun({ key, history, event_id, writer }: RunUpdate): void {
    const before = this.#runs.get(runName(key));
    const seat = before?.slot;
    const after = knownRun(key, history.head, history.run, event_id);
    if (before) this.#runs.remove(before);
    this.#orphans.remove(runName(key));
    if (after) this.#runs.add(after);
    this.#refresh(after?.slot);
    if (before && seat && !isSameSlot(seat, after?.slot)) {
      // Its executor has not said yet that it stopped.
      if (isExecuting(before.run) && writer === 'scheduler')
        this.#linger(seat, key.run_id, before.run.attempt.number);
      this.#refresh(seat);
      this.#offerSlotsOf(seat.executor);
    }
    if (after) this.#decideOn(after);
  }

  #runUnreadable(key: RunKey): void {
    const known = this.#runs.get(runName(key));
    const seat = known?.slot;
    if (known) this.#runs.remove(known);
    this.#freed(seat);
  }

  #linger({ executor, slot }: SlotRef, run_id: string, attempt: number): void {
    const registered = this.#fleet.get(executor);
    if (registered) this.#fleet.linger(registered, slot, run_id, attempt, this.#connectedMs);
  }

  #refresh(seat: SlotRef | undefined): void {
    const slot = seat && this.#fleet.get(seat.executor)?.slots.get(seat.slot);
    if (slot) this.#fleet.refreshSlot(slot);
  }

  #freed(seat: SlotRef | undefined): void {
    if (!seat) return;
    this.#refresh(seat);
    this.#offerSlotsOf(seat.executor);
  }

  #decideOn(known: KnownRun): void {
    if (!this.#leading) return;
    if (known.run.status !== 'queued') return this.#recoverIfGone(known);
    const slot = this.#fleet.freeSlotFor(known.requirements);
    if (slot) this.#assign(known, slot);
  }

  #offerSlotsOf(id: ExecutorId): void {
    const executor = this.#fleet.get(id);
    if (executor) this.#offerSlots(executor);
  }

  /** Gives each free slot to the run of its GPU model that has waited longest, of those that the executor serves. */
  #offerSlots(executor: RegisteredExecutor): void {
    if (!this.#leading) return;
    for (const [gpu, slots] of executor.free) {
      for (const slot of slots) {
        const first = this.#runs.firstFor(gpu, executor.capabilities);
        if (!first) break;
        this.#assign(first, slot);
      }
    }
  }

  #assign(known: KnownRun, { executor, number }: Slot): void {
    const { run, head, key, event_id } = known;
    if (run.status !== 'queued') return;
    const decided = this.#decide(known, {
      type: 'assign',
      key,
      run,
      expected: head,
      answers: event_id,
      attempt: (run.attempt?.number ?? 0) + 1,
      executor: executor.id,
      executor_public_key: executor.registration.said.public_key,
      slot: number,
    });
    if (!decided) return;
    this.#runs.takeSeat(known, { executor: executor.id, slot: number });
    this.#refresh(known.slot);
  }

  #recoverIfGone(known: KnownRun): void {
    const { run } = known;
    if (!isExecuting(run) || this.#fleet.get(run.attempt.executor_id)) return;
    const how = this.#departed.howOf(run.attempt.executor_id);
    if (how) this.#decide(known, recovery(known, run, how));
    else this.#orphans.add(known.name, this.#connectedMs);
  }

  #recoverOrphans(): void {
    for (const name of this.#orphans.takeAfter(this.#settings.heartbeatPeriodMs, this.#connectedMs)) {
      const known = this.#runs.get(name);
      if (!known || !isExecuting(known.run) || this.#fleet.get(known.run.attempt.executor_id)) continue;
      this.#decide(known, recovery(known, known.run, 'executor_lost'));
    }
  }

  /** One decision for each head; while it is under way the run waits for nothing else. */
  #decide(known: KnownRun, decision: RunDecision): boolean {
    if (!this.#leading || known.decided) return false;
    known.pending = decision;
    known.decided = true;
    this.#runs.awaitNothing(known);
    this.#decisions.push(decision);
    return true;
  }

  #settled(decision: Decision, outcome: Outcome): void {
    if (decision.type === 'declare_lost') {
      const executor = this.#fleet.get(decision.executor);
      if (!executor?.losing || outcome === 'stored') return;
      this.#fleet.giveUpLoss(executor, this.#connectedMs);
      return this.#offerSlots(executor);
    }
    const known = this.#runs.get(runName(decision.key));
    if (known?.pending !== decision || outcome === 'stored') return;
    if (outcome === 'expired') return this.#runUnreadable(decision.key);
    // The fact that refused it is on its way; until then nothing is decided on this run.
    known.pending = null;
    if (decision.type === 'assign') {
      const { slot: seat } = known;
      this.#runs.leaveSeat(known);
      this.#freed(seat);
    }
    if (outcome !== 'failed') return;
    known.decided = false;
    this.#runs.await(known);
    this.#decideOn(known);
  }

  #fleetFact({ event, sequence, time, connectedMs }: Extract<SchedulerInput, { type: 'fleet_fact' }>): void {
    if (!this.isNew(event, sequence)) return;
    if ('executor_name' in event) return this.#fleetRequest(event, sequence, time);
    const id = executorId(event.executor_id);
    const known = this.#fleet.get(id);
    switch (event.type) {
      case 'ExecutorRegistered':
        return this.#register(id, { said: event, time }, sequence, connectedMs);
      case 'ExecutorDraining':
        if (!known) return;
        known.sequence = sequence;
        return this.#fleet.drain(known);
      case 'ExecutorLeft':
        return this.#gone(id, 'executor_left', sequence);
      case 'ExecutorLost':
        return this.#gone(id, 'executor_lost', sequence);
    }
  }

  #register(id: ExecutorId, registration: Registration, sequence: number, connectedMs: number): void {
    const drained = this.#drained.drainOf(executorName(id)) !== null;
    this.#departed.forget(id);
    this.#fleet.register(id, { registration, sequence, drained }, connectedMs);
    this.#offerSlotsOf(id);
  }

  /** What runs there goes on. */
  #fleetRequest({ type, executor_name, requested_by }: FleetRequest, sequence: number, time: string): void {
    const drain = type === 'ExecutorDrainRequested' ? { requested_at: time, requested_by } : null;
    this.#setDrain(executor_name, sequence, drain);
  }

  #setDrain(name: string, sequence: number, drain: Drain | null): void {
    this.#drained.set(name, sequence, drain);
    for (const executor of this.#fleet.setDrained(name, drain !== null)) this.#offerSlots(executor);
  }

  #gone(id: ExecutorId, how: Departure, sequence: number): void {
    const executor = this.#fleet.remove(id);
    if (!executor && this.#departed.howOf(id)) return;
    const registration = executor?.registration;
    this.#departed.remember(id, { how, registration, sequence, lastBeat: executor?.lastHeartbeat ?? null });
    if (!this.#leading) return;
    for (const known of this.#runs.on(id)) this.#recoverIfGone(known);
  }

  #heartbeat({ heartbeat, time, connectedMs }: Extract<SchedulerInput, { type: 'heartbeat' }>): void {
    if (!isExecutorId(heartbeat.executor_id)) return;
    const id = executorId(heartbeat.executor_id);
    const sequence = this.#departed.sequenceOf(id);
    const registration = this.#departed.heardAgain(id, time);
    if (registration) this.#register(id, registration, sequence, connectedMs);
    const executor = this.#fleet.get(id);
    if (executor && this.#fleet.beat(executor, heartbeat, time, connectedMs)) this.#offerSlots(executor);
  }

  #lead(connectedMs: number): void {
    this.#leading = true;
    this.#resetBeats(connectedMs, { forget: true });
    for (const known of this.#runs.all()) {
      // One that was lost may have been heard again since by the scheduler before: its beats have a period to tell.
      const { attempt } = known.run;
      const wasLost = attempt && this.#departed.howOf(attempt.executor_id) === 'executor_lost';
      if (wasLost && isExecuting(known.run)) this.#orphans.add(known.name, this.#connectedMs);
      else this.#recoverIfGone(known);
    }
  }

  #resetBeats(connectedMs: number, { forget }: { readonly forget: boolean }): void {
    this.#connectedMs = connectedMs;
    this.#fleet.resetBeats(connectedMs, { forget });
    this.#orphans.reset(connectedMs);
    if (forget) this.#quietUntil = connectedMs + this.#settings.heartbeatPeriodMs;
  }

  /** Another scheduler may decide: what was under way here is none of ours any more. */
  #standBy(): void {
    this.#leading = false;
    this.#orphans.clear();
    for (const known of this.#runs.all()) {
      if (!known.decided) continue;
      if (known.pending?.type === 'assign') {
        const { slot: seat } = known;
        this.#runs.leaveSeat(known);
        this.#refresh(seat);
      }
      known.pending = null;
      known.decided = false;
      this.#runs.await(known);
    }
    for (const executor of this.#fleet.all()) {
      if (executor.losing) this.#fleet.giveUpLoss(executor, this.#connectedMs);
    }
  }

  #tick(now: number, connectedMs: number): void {
    const { heartbeatPeriodMs } = this.#settings;
    // A process that did not run heard no beats either.
    if (connectedMs - this.#connectedMs > heartbeatPeriodMs / 2) {
      this.#resetBeats(connectedMs, { forget: false });
    }
    this.#connectedMs = connectedMs;
    if (!this.#leading) return;
    for (const executor of this.#fleet.silentFor(heartbeatPeriodMs, connectedMs)) this.#declareLost(executor);
    this.#recoverOrphans();
    for (const executor of this.#fleet.endLingering(connectedMs)) this.#offerSlots(executor);
    if (connectedMs >= this.#quietUntil) this.#endOverdue(now);
  }

  #declareLost(executor: RegisteredExecutor): void {
    this.#fleet.beginLoss(executor);
    this.#decisions.push({
      type: 'declare_lost',
      executor: executor.id,
      lastHeartbeat: executor.lastHeartbeat,
      message: unresponsive(this.#settings.heartbeatPeriodMs / 1_000),
    });
  }

  #endOverdue(now: number): void {
    const asked = new Map<string, boolean>();
    const hasCapacityFor = (demand: Requirements): boolean => {
      const key = requirementsKey(demand);
      const answer = asked.get(key) ?? this.#fleet.offersFor(demand).length > 0;
      asked.set(key, answer);
      return answer;
    };
    const { cancelEnforceMs } = this.#settings;
    for (const known of this.#runs.takeOverdue(now)) {
      this.#decide(known, expired(known, { cancelEnforceMs, hasCapacityFor }));
    }
  }
}
