import { executorName } from '@runledger/contracts/ids';
import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import type { Decision } from '@runledger/scheduler/core/decision';
import { misjudgedSlot } from '@runledger/scheduler/invariants/known-slots';
import { waitsBesideSlot } from '@runledger/scheduler/invariants/placement';
import type { SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import { runOf } from '../plan/ids.ts';
import type { WatchedScheduler } from '../scheduler/watcher.ts';
import { FairnessCheck, shareOfIn, type SchedulerCheckOptions } from './fairness-check.ts';
import { PlacementCheck } from './placement-check.ts';

/** Checks every step of one scheduler, from its start until it is killed. */
export class SchedulerChecks {
  readonly #options: SchedulerCheckOptions;
  readonly #scheduler: WatchedScheduler;
  readonly #drained = new Set<string>();
  readonly #decidedOn = new Map<string, number>();
  readonly #placement: PlacementCheck;
  readonly #fairness: FairnessCheck;
  #hasRoom = true;
  #comparedAt = -Infinity;

  constructor(options: SchedulerCheckOptions, scheduler: WatchedScheduler) {
    this.#options = options;
    this.#scheduler = scheduler;
    const isDrained = (name: string): boolean => this.#drained.has(name);
    const fleet = { scheduling: scheduler.scheduling, isDrained };
    this.#placement = new PlacementCheck(options, fleet);
    this.#fairness = new FairnessCheck(options, fleet, this.#placement);
  }

  onTaken(input: SchedulerInput, decisions: readonly Decision[]): void {
    this.#remember(input);
    for (const decision of decisions) this.#checkDecision(decision);
    this.#placement.onTaken(input, decisions);
    if (input.type === 'lead') this.#fairness.onLead();
    this.#fairness.onDecided(decisions);
    if (this.#scheduler.isLeading) this.#compare(input, decisions);
  }

  #remember(input: SchedulerInput): void {
    if (input.type === 'log_size') this.#hasRoom = input.maxBytes < 0;
    else if (input.type === 'drained_name') this.#drained.add(input.drained.name);
    else if (input.type === 'stand_by') this.#decidedOn.clear();
    else if (input.type === 'run_fact' && (!input.history.state || isOver(input.history.state))) {
      this.#decidedOn.delete(input.key.run_id);
    } else if (input.type === 'fleet_fact' && 'executor_name' in input.event) {
      const { type, executor_name } = input.event;
      if (!this.#isNewRequest(input.sequence, executor_name)) return;
      if (type === 'ExecutorDrainRequested') this.#drained.add(executor_name);
      else this.#drained.delete(executor_name);
    }
  }

  readonly #requests = new Map<string, number>();

  #isNewRequest(sequence: number, name: string): boolean {
    if (sequence <= (this.#requests.get(name) ?? 0)) return false;
    this.#requests.set(name, sequence);
    return true;
  }

  #checkDecision(decision: Decision): void {
    const { violate } = this.#options;
    const { name, isLeading } = this.#scheduler;
    if (!isLeading) violate('decisions', `${name} decides ${decision.type}, and does not lead`);
    if (decision.type === 'declare_lost') return;
    const { key, expected } = decision;
    const run = `run ${runOf(key.run_id)}`;
    if ((this.#decidedOn.get(key.run_id) ?? 0) >= expected) {
      violate('decisions', `${name} decides twice on ${run} at ${expected}`);
    }
    this.#decidedOn.set(key.run_id, expected);
    if (decision.type !== 'assign') return;
    const executor = executorName(decision.executor);
    if (this.#drained.has(executor)) violate('drains', `${executor} is drained, and gets ${run}`);
  }

  /** All runs and slots. Other inputs free no slot, and no run begins to wait. */
  #compare({ type }: SchedulerInput, decisions: readonly Decision[]): void {
    const { plan, timeline, violate, compareEveryMs } = this.#options;
    if (decisions.length === 0 && (type === 'tick' || type === 'heartbeat' || type === 'log_size')) return;
    if (timeline.now - this.#comparedAt < compareEveryMs) return;
    this.#comparedAt = timeline.now;
    const { scheduling } = this.#scheduler;
    const isDrained = (name: string): boolean => this.#drained.has(name);
    const misjudged = misjudgedSlot(scheduling, isDrained);
    if (misjudged) {
      const { slot, isFree } = misjudged;
      const [is, judged] = isFree ? ['free', 'busy'] : ['not free', 'free'];
      violate(
        'slots',
        `slot ${slot.number} of ${slot.executor.id} is ${is}, and the leader takes it for ${judged}`,
      );
    }
    if (!this.#hasRoom) return;
    const found = waitsBesideSlot(scheduling, {
      shareOf: shareOfIn(plan),
      isDrained,
      clock: this.#placement.clock,
    });
    if (!found) return;
    const run = `run ${runOf(found.run.key.run_id)}`;
    violate('no_idle_slot', `${run} waits, and ${found.executor} has a free slot that could take it`);
  }
}

const isOver = (run: RunState): boolean => isDeleted(run) || isEnded(run);
