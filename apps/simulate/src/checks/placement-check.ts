import type { Assign, Decision } from '@runledger/scheduler/core/decision';
import { knownSlots } from '@runledger/scheduler/invariants/known-slots';
import { freeWarmSlot, modelsAt, type TickClock } from '@runledger/scheduler/invariants/placement';
import type { SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import type { Scheduling } from '@runledger/scheduler/core/scheduling';
import { runOf } from '../plan/ids.ts';
import type { Plan } from '../plan/plan.ts';
import type { Violate } from './violation.ts';

export interface KnownFleet {
  readonly scheduling: Scheduling;
  /** An operator drained the name. */
  readonly isDrained: (name: string) => boolean;
}

/** A run gets a slot not before its time, of a model and an executor that it may take, and a warm one if there is one. */
export class PlacementCheck {
  readonly #violate: Violate;
  readonly #fleet: KnownFleet;
  /** Whether anything stays loaded. */
  readonly #knowsWarm: boolean;
  #now = 0;
  /** Of all ticks: the clock may have been set back. */
  #latest = 0;

  constructor({ plan, violate }: { readonly plan: Plan; readonly violate: Violate }, fleet: KnownFleet) {
    this.#violate = violate;
    this.#fleet = fleet;
    this.#knowsWarm = plan.deployments.some(({ version }) => version !== undefined);
  }

  /** Of the last tick. */
  get clock(): TickClock {
    return { now: this.#now, instantOf: Date.parse };
  }

  /** The clock has been set back: what a run that waits for a time may take is not known, as that was so before. */
  get isClockBack(): boolean {
    return this.#now < this.#latest;
  }

  onTaken(input: SchedulerInput, decisions: readonly Decision[]): void {
    if (input.type === 'tick') {
      this.#now = input.now;
      this.#latest = Math.max(this.#latest, input.now);
    }
    const assigned = decisions.filter((decision) => decision.type === 'assign');
    for (const decision of assigned) this.#checkOne(decision);
    // The state before several decisions is not known.
    const [only, ...others] = assigned;
    if (this.#knowsWarm && only && others.length === 0) this.#isWarmIfPossible(only);
  }

  #checkOne({ run, gpu, executor }: Assign): void {
    const name = `run ${runOf(run.run_id)}`;
    // The clock may have been set back since the run began to wait for the model.
    if (!modelsAt(run, { ...this.clock, now: this.#latest }).includes(gpu)) {
      this.#violate('placement', `${name} gets a slot of ${gpu}, which it may not take, or not yet`);
    }
    const { labels = [] } = run.request;
    if (labels.length === 0) return;
    const registered = this.#fleet.scheduling.executors();
    const has = [...registered].find(({ id }) => id === executor)?.registration.event.labels ?? [];
    const missing = labels.filter((label) => !has.includes(label));
    if (missing.length > 0) {
      this.#violate('placement', `${name} gets ${executor}, which has no label ${missing.join(' and ')}`);
    }
  }

  #isWarmIfPossible({ run, executor, slot: number }: Assign): void {
    const { scheduling, isDrained } = this.#fleet;
    const runs = [...scheduling.runs()];
    const known = runs.find(({ key }) => key.run_id === run.run_id);
    const slots = knownSlots(scheduling, runs, isDrained);
    const taken = slots.find(({ slot }) => slot.executor.id === executor && slot.number === number);
    if (!known || taken?.slot.loaded === run.request.workflow_version_id) return;
    const warm = freeWarmSlot(known, slots, this.clock);
    if (!warm) return;
    const name = `run ${runOf(run.run_id)}`;
    this.#violate(
      'placement',
      `${name} gets a cold slot of ${executor}, and ${warm.executor.id} has a warm one`,
    );
  }
}
