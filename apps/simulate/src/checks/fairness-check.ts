import { gpuOf, isDeleted, isEnded, isExecuting } from '@runledger/contracts/fold/run';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import type { Decision, LiveRun } from '@runledger/scheduler/core/decisions/decision';
import { MOST_PASSES, Passes, type Pass } from '@runledger/scheduler/core/invariants/passes';
import type { SchedulerInput } from '@runledger/scheduler/core/state/scheduler-input';
import type { Scheduling } from '@runledger/scheduler/core/scheduling';
import { deploymentOf, organisationOf, runOf } from '../plan/ids.ts';
import type { Plan } from '../plan/plan.ts';
import type { Violate } from './violation.ts';

/** Those who share slots by weight: the organisations on a GPU model, or the deployments of one of them. */
interface Pool {
  readonly flows: Map<string, { waiting: number; slots: number }>;
  /** They wait without a slot, and have runs that any slot will do for. */
  readonly eligible: Set<string>;
  readonly passes: Passes;
}

interface Place {
  readonly pool: string;
  readonly flow: string;
}

interface MirroredRun {
  places: readonly Place[];
  /** Any slot of its model will do at any time: no limit holds it back, and it is choosy about no slot. */
  readonly isFree: boolean;
  situation: 'waiting' | 'holding' | 'neither';
}

/** Mirrors, from its inputs and decisions, what one leader knows, and counts who passes whom. */
export class FairnessCheck {
  readonly #plan: Plan;
  readonly #violate: Violate;
  readonly #areOrganisationsEqual: boolean;
  /** Organisations, and whether their deployments have equal weights. */
  readonly #equal = new Map<number, boolean>();
  readonly #pools = new Map<string, Pool>();
  readonly #runs = new Map<string, MirroredRun>();
  /** Those that wait for a time, such as after an error, and from when on they need a slot. */
  readonly #later = new Map<string, { readonly run: LiveRun; readonly from: number }>();

  /** Of a leader that begins to lead. */
  constructor(plan: Plan, violate: Violate, scheduling: Scheduling) {
    this.#plan = plan;
    this.#violate = violate;
    // The last one only shows at the end that slots are free.
    this.#areOrganisationsEqual = isEqual(plan.organisations.slice(0, -1));
    for (const { run, slot, decided } of scheduling.runs()) {
      if (slot) this.#set(run.run_id, run, 'holding', slot.gpu);
      else if (!decided) this.#wait(run.run_id, run);
    }
  }

  onTaken(input: SchedulerInput, decisions: readonly Decision[]): void {
    if (input.type === 'run_fact' || input.type === 'run_read_again') {
      this.#onHistory(input.key.run_id, input.history);
    } else if (input.type === 'settled' && input.decision.type === 'assign' && input.outcome !== 'stored') {
      // What is refused waits for the fact that came first.
      const { run } = input.decision;
      this.#set(run.run_id, run, input.outcome === 'failed' ? 'waiting' : 'neither');
    } else if (input.type === 'tick') this.#onTick(input.now);
    for (const decision of decisions) this.#onDecision(decision);
  }

  #onHistory(run_id: string, { state }: RunHistory): void {
    this.#later.delete(run_id);
    if (!state || isDeleted(state) || isEnded(state)) return this.#remove(run_id);
    if (isExecuting(state)) return this.#set(run_id, state, 'holding', gpuOf(state));
    this.#wait(run_id, state);
  }

  #wait(run_id: string, run: LiveRun): void {
    const isLater = run.status === 'queued' && run.not_before !== null;
    this.#set(run_id, run, isLater ? 'neither' : 'waiting');
    if (isLater) this.#later.set(run_id, { run, from: Date.parse(run.not_before) });
  }

  #onTick(now: number): void {
    for (const [run_id, { run, from }] of this.#later) {
      if (from > now) continue;
      this.#later.delete(run_id);
      this.#set(run_id, run, 'waiting');
    }
  }

  #onDecision(decision: Decision): void {
    if (decision.type === 'declare_lost') return;
    const { run } = decision;
    this.#later.delete(run.run_id);
    if (decision.type !== 'assign') {
      if (run.status === 'queued') this.#set(run.run_id, run, 'neither');
      return;
    }
    for (const { pool, flow } of this.#placesOf(run, decision.gpu)) {
      const { passes, eligible } = this.#pool(pool);
      const beyond = passes.start(flow, eligible);
      if (beyond) this.#violate('fairness', passed(beyond, pool, runOf(run.run_id)));
    }
    this.#set(run.run_id, run, 'holding', decision.gpu);
  }

  /** `gpu`: of the slot that it holds. */
  #set(run_id: string, run: LiveRun, situation: MirroredRun['situation'], gpu = run.request.gpu): void {
    const known = this.#runs.get(run_id) ?? {
      places: [],
      isFree: isFree(run, this.#plan),
      situation: 'neither',
    };
    this.#runs.set(run_id, known);
    if (known.situation === situation) return;
    this.#count(known, -1);
    known.situation = situation;
    known.places = this.#placesOf(run, gpu);
    this.#count(known, 1);
  }

  #remove(run_id: string): void {
    const known = this.#runs.get(run_id);
    if (!known) return;
    this.#count(known, -1);
    this.#runs.delete(run_id);
  }

  #count({ places, isFree, situation }: MirroredRun, by: 1 | -1): void {
    if (situation === 'neither' || (situation === 'waiting' && !isFree)) return;
    for (const { pool: name, flow } of places) {
      const pool = this.#pool(name);
      const counts = pool.flows.get(flow) ?? { waiting: 0, slots: 0 };
      pool.flows.set(flow, counts);
      if (situation === 'waiting') counts.waiting += by;
      else counts.slots += by;
      if (counts.waiting > 0 && counts.slots === 0) pool.eligible.add(flow);
      else if (pool.eligible.delete(flow)) pool.passes.forget(flow);
    }
  }

  #placesOf({ org_id, request: { deployment_id } }: LiveRun, gpu: string): Place[] {
    const number = organisationOf(org_id);
    const organisation = `organisation ${number}`;
    const places = [];
    if (this.#areOrganisationsEqual) places.push({ pool: gpu, flow: organisation });
    if (this.#areDeploymentsEqual(number)) {
      places.push({ pool: `${gpu} of ${organisation}`, flow: `deployment ${deploymentOf(deployment_id)}` });
    }
    return places;
  }

  #areDeploymentsEqual(organisation: number): boolean {
    const known = this.#equal.get(organisation);
    if (known !== undefined) return known;
    const own = this.#plan.deployments.filter((one) => one.organisation === organisation);
    this.#equal.set(organisation, isEqual(own));
    return isEqual(own);
  }

  #pool(name: string): Pool {
    const known = this.#pools.get(name);
    if (known) return known;
    const pool = {
      flows: new Map(),
      eligible: new Set<string>(),
      passes: new Passes(),
    };
    this.#pools.set(name, pool);
    return pool;
  }
}

const isFree = ({ org_id, request }: LiveRun, { organisations }: Plan): boolean =>
  [
    organisations[organisationOf(org_id)]?.limit,
    request.concurrency_limit,
    request.concurrency_key,
    request.gpu_fallbacks,
    request.labels,
    request.warm_wait_s,
  ].every((member) => member === undefined);

/** Whether no weight says that one gets more than the others: the bound is about equal weights. */
const isEqual = (flows: readonly { readonly weight?: number }[]): boolean =>
  new Set(flows.map(({ weight = 1 }) => weight)).size <= 1;

const passed = ({ waiting, by, times }: Pass, pool: string, run: number): string =>
  `${waiting} waits for ${pool} without a slot, and was passed by ${times} runs of ${by}, beyond the bound of ${MOST_PASSES}; the last one is run ${run}`;
