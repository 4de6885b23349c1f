import type { Assign, Decision } from '@runledger/scheduler/core/decision';
import { beforeDecision, type RunThen } from '@runledger/scheduler/invariants/known-slots';
import { Fairness } from '@runledger/scheduler/invariants/fairness';
import type { ShareOf } from '@runledger/scheduler/core/runs/fair-queue';
import { organisationOf } from '../plan/ids.ts';
import type { Plan } from '../plan/plan.ts';
import type { Timeline } from '../virtual-time.ts';
import type { KnownFleet, PlacementCheck } from './placement-check.ts';
import type { Violate } from './violation.ts';

/** Of a day so many assignments are judged one after the other, each time that all is compared. */
const JUDGED_OF_DAY = 20;

export interface SchedulerCheckOptions {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly violate: Violate;
  /** All runs and slots are compared after each step, or so often. */
  readonly compareEveryMs: number;
}

/** Each slot goes to whom it belongs by weight: counted from the runs and slots before each assignment. */
export class FairnessCheck {
  readonly #options: SchedulerCheckOptions;
  readonly #fleet: KnownFleet;
  readonly #placement: PlacementCheck;
  readonly #fairness = new Fairness();
  #judgedFrom = -Infinity;
  #left = 0;

  constructor(options: SchedulerCheckOptions, fleet: KnownFleet, placement: PlacementCheck) {
    this.#options = options;
    this.#fleet = fleet;
    this.#placement = placement;
  }

  /** Another scheduler may have given slots away. */
  onLead(): void {
    this.#fairness.forget();
  }

  onDecided(decisions: readonly Decision[]): void {
    for (const [n, decision] of decisions.entries())
      if (decision.type === 'assign' && this.#isJudged()) this.#judge(decision, decisions.slice(n));
  }

  #isJudged(): boolean {
    const { compareEveryMs, timeline } = this.#options;
    if (compareEveryMs === 0) return true;
    if (timeline.now - this.#judgedFrom >= compareEveryMs) {
      this.#judgedFrom = timeline.now;
      this.#left = JUDGED_OF_DAY;
      this.#fairness.forget();
    }
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** `decisions`: this one and those after it. */
  #judge(decision: Assign, decisions: readonly Decision[]): void {
    const { plan, violate } = this.#options;
    const { scheduling, isDrained } = this.#fleet;
    const moment = beforeDecision(scheduling, decisions, isDrained);
    if (this.#placement.isClockBack && moment.runs.some(waitsForTime)) return this.#fairness.forget();
    const { clock } = this.#placement;
    const circumstances = { shareOf: shareOfIn(plan), isDrained, clock };
    const problem = this.#fairness.problemOf(moment, decision, circumstances);
    if (problem !== undefined) violate('fairness', problem);
  }
}

export const shareOfIn =
  ({ organisations }: Plan): ShareOf =>
  (org_id) => {
    const { weight = 1, limit = Infinity } = organisations[organisationOf(org_id)] ?? {};
    return { weight, limit };
  };

const waitsForTime = ({ waits, run }: RunThen): boolean =>
  waits &&
  (run.not_before !== null ||
    run.request.warm_wait_s !== undefined ||
    (run.request.gpu_fallbacks ?? []).some(({ after_s }) => after_s > 0));
