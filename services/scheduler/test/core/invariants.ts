import assert from 'node:assert/strict';
import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName } from '@runledger/contracts/ids';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { Assign, Decision, RunDecision } from '../../src/core/decision.ts';
import {
  beforeDecision,
  heldSlots,
  limitAt,
  knownSlots,
  type KnownSlot,
} from '../../invariants/known-slots.ts';
import { freeWarmSlot, modelsAt, type TickClock, waitsBesideSlot } from '../../invariants/placement.ts';
import { Fairness, isBefore } from '../../invariants/fairness.ts';
import type { ShareOf } from '../../src/core/runs/fair-queue.ts';
import type { KnownRun } from '../../src/core/runs/known-run.ts';
import { canServe, type Requirements } from '../../src/core/requirements.ts';
import type { RegisteredExecutor } from '../../src/core/registered-executor.ts';
import type { SchedulerInput } from '../../src/core/scheduler-input.ts';
import { PERIOD_MS, type TestBed } from './test-bed.ts';

/** What must hold after every input, checked from the whole state. */
export class Invariants {
  readonly #bed: TestBed;
  #leading = true;
  #decidedOn = new Set<string>();
  readonly #deliveredHeads = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #seenAt = new Map<string, number>();
  readonly #heartbeats = new Map<string, string>();
  /** Drained names, from the last delivered request of each. */
  readonly #drained = new Set<string>();
  /** The broker's clock at the last tick. */
  #tickMs = 0;
  readonly #models = new WeakMap<Run, { readonly tickMs: number; readonly models: readonly GpuModel[] }>();
  assigned = 0;
  lost = 0;

  readonly #shareOf: ShareOf;
  readonly #isDrained = (name: string): boolean => this.#drained.has(name);
  readonly #fairness = new Fairness();

  constructor(bed: TestBed, shareOf: ShareOf) {
    this.#bed = bed;
    this.#shareOf = shareOf;
  }

  check(input: SchedulerInput, decisions: readonly Decision[]): void {
    this.#remember(input);
    for (const decision of decisions) this.#checkDecision(decision);
    const assigned = decisions.filter((decision) => decision.type === 'assign');
    // The state before a decision is known if it is the only one.
    const [only] = assigned;
    if (only && assigned.length === 1) this.#isWarmFirst(only);
    // Others have its slot first.
    if (input.type === 'settled' && input.outcome === 'failed') this.#fairness.forget();
    else this.#isFair(decisions);
    if (!this.#leading) assert.deepEqual(decisions, []);
    this.#noSlotHoldsTwo();
    if (this.#leading) this.#noRunWaitsForFreeSlot();
    this.#queuePositionsAreRight();
    this.#poolsCountRuns();
  }

  #remember(input: SchedulerInput): void {
    const { connectedMs } = this.#bed;
    switch (input.type) {
      case 'run_fact':
      case 'run_read_again': {
        const name = this.#bed.nameOf(input.key);
        this.#deliveredHeads.set(name, Math.max(input.history.head, this.#deliveredHeads.get(name) ?? 0));
        if (input.history.state && 'ended_at' in input.history.state) this.#ended.add(name);
        break;
      }
      case 'fleet_fact':
        if (input.event.type === 'ExecutorRegistered')
          this.#seenAt.set(input.event.executor_id, input.connectedMs);
        if (input.event.type === 'ExecutorDrainRequested') this.#drained.add(input.event.executor_name);
        if (input.event.type === 'ExecutorResumeRequested') this.#drained.delete(input.event.executor_name);
        break;
      case 'heartbeat': {
        const { executor_id } = input.heartbeat;
        if (this.#heartbeats.get(executor_id) !== input.time) this.#seenAt.set(executor_id, connectedMs);
        this.#heartbeats.set(executor_id, input.time);
        break;
      }
      case 'reset_heartbeats':
        for (const executor of this.#seenAt.keys()) this.#seenAt.set(executor, connectedMs);
        break;
      case 'lead':
        this.#leading = true;
        for (const executor of this.#seenAt.keys()) this.#seenAt.set(executor, connectedMs);
        break;
      case 'stand_by':
        this.#leading = false;
        this.#fairness.forget();
        this.#decidedOn = new Set();
        break;
      case 'tick':
        this.#tickMs = input.now;
        break;
      case 'log_size':
      case 'drained_name':
      case 'durations':
      case 'run_unreadable':
        break;
      case 'settled':
        // It may be decided again.
        if (input.outcome === 'failed' && input.decision.type !== 'declare_lost')
          this.#decidedOn.delete(this.#headOf(input.decision));
        break;
    }
  }

  #checkDecision(decision: Decision): void {
    if (decision.type === 'declare_lost') {
      this.lost += 1;
      const unresponsiveFor = this.#bed.connectedMs - (this.#seenAt.get(decision.executor) ?? 0);
      assert.ok(unresponsiveFor >= PERIOD_MS, `the loss came after ${unresponsiveFor} ms only`);
      return;
    }
    const name = this.#bed.nameOf(decision.key);
    const head = this.#headOf(decision);
    assert.ok(!this.#decidedOn.has(head), `${head} is decided on twice`);
    this.#decidedOn.add(head);
    assert.ok(!this.#ended.has(name), `${name} has ended`);
    assert.equal(decision.expected, this.#deliveredHeads.get(name));
    if (decision.type !== 'assign') return;
    this.assigned += 1;
    const { executor, run } = decision;
    assert.ok(!this.#drained.has(executorName(executor)), `${executor} is drained and gets ${run.run_id}`);
    const has = this.#registered(executor)?.registration.event.labels ?? [];
    const missing = (run.request.labels ?? []).filter((label) => !has.includes(label));
    assert.deepEqual(missing, [], `${executor} gets ${run.run_id}`);
    assert.ok(
      this.#modelsOf(run).includes(decision.gpu),
      `${run.run_id} gets a slot of ${decision.gpu} too early`,
    );
  }

  #headOf({ key, expected }: RunDecision): string {
    return `${this.#bed.nameOf(key)} at ${expected}`;
  }

  /** Whoever gets a slot is next for it. */
  #isFair(decisions: readonly Decision[]): void {
    const circumstances = { shareOf: this.#shareOf, isDrained: this.#isDrained, clock: this.#clock };
    for (const [n, decision] of decisions.entries()) {
      if (decision.type !== 'assign') continue;
      const moment = beforeDecision(this.#bed.scheduling, decisions.slice(n), this.#isDrained);
      assert.equal(this.#fairness.problemOf(moment, decision, circumstances), undefined);
    }
  }

  #registered(id: string): RegisteredExecutor | undefined {
    return [...this.#bed.scheduling.executors()].find((executor) => executor.id === id);
  }

  /** A slot with its version goes before all others that fit. */
  #isWarmFirst({ executor, run, slot: number }: Assign): void {
    const version = run.request.workflow_version_id;
    if (this.#registered(executor)?.slots.get(number)?.loaded === version) return;
    const runs = [...this.#bed.scheduling.runs()];
    const known = runs.find((one) => one.key.run_id === run.run_id);
    assert.ok(known);
    const warm = freeWarmSlot(known, this.#slots(), this.#clock);
    assert.ok(!warm, `${run.run_id} is assigned to a cold slot while ${warm?.executor.id} has a warm one`);
  }

  get #clock(): TickClock {
    return { now: this.#tickMs, instantOf: Date.parse };
  }

  #slots(): readonly KnownSlot[] {
    const { scheduling } = this.#bed;
    return knownSlots(scheduling, scheduling.runs(), this.#isDrained);
  }

  /** The GPU models that a waiting run may take now, in order. */
  #modelsOf(run: Run): readonly GpuModel[] {
    const known = this.#models.get(run);
    if (known?.tickMs === this.#tickMs) return known.models;
    const models = modelsAt(run, this.#clock);
    this.#models.set(run, { tickMs: this.#tickMs, models });
    return models;
  }

  #noSlotHoldsTwo(): void {
    const slots = [...this.#bed.scheduling.runs()].flatMap(({ slot }) =>
      slot ? [`${slot.executor} slot ${slot.slot}`] : [],
    );
    assert.equal(new Set(slots).size, slots.length, slots.join(', '));
    const executing = [...this.#bed.histories.values()].flatMap(({ state: run }) =>
      run && isExecuting(run) ? [`${run.attempt.executor_id} slot ${run.attempt.slot}`] : [],
    );
    assert.equal(new Set(executing).size, executing.length, executing.join(', '));
  }

  #noRunWaitsForFreeSlot(): void {
    const found = waitsBesideSlot(this.#bed.scheduling, {
      shareOf: this.#shareOf,
      isDrained: this.#isDrained,
      clock: this.#clock,
    });
    assert.ok(!found, `${found?.run.name} waits for a slot that ${found?.executor} has`);
  }

  /** What fair sharing goes by: no run is forgotten, and none is counted that is gone. */
  #poolsCountRuns(): void {
    const { scheduling } = this.#bed;
    const waiting = [...scheduling.runs()].filter((known) => this.#waits(known));
    const { pools } = scheduling.queries.pools({ org_id: null, gpu: null, after: null, limit: 100 });
    for (const { gpu, organisations } of pools)
      for (const { org_id, deployments, ...counted } of organisations) {
        const own = waiting.filter(
          ({ run, requirements }) => requirements.org_id === org_id && this.#modelsOf(run).includes(gpu),
        );
        assert.equal(counted.waiting, own.length, `${org_id} on ${gpu}`);
        for (const { deployment_id, waiting: ofDeployment } of deployments)
          assert.equal(
            ofDeployment,
            own.filter(({ run }) => run.request.deployment_id === deployment_id).length,
            `${deployment_id} on ${gpu}`,
          );
      }
  }

  #waits(known: KnownRun): boolean {
    return known.run.status === 'queued' && !known.decided && this.#modelsOf(known.run).length > 0;
  }

  #queuePositionsAreRight(): void {
    const { scheduling } = this.#bed;
    const runs = [...scheduling.runs()];
    const held = heldSlots(runs);
    const waiting = runs.filter((known) => this.#waits(known));
    for (const { key, run, requirements, decided } of runs) {
      const position = scheduling.queries.queuePosition(key);
      if (run.status !== 'queued') {
        assert.equal(position, undefined);
        continue;
      }
      if (!decided && this.#modelsOf(run).length === 0) {
        assert.deepEqual(position, { ahead: 0, capacity: 'delayed' });
        continue;
      }
      const all = this.#modelsOf(run).map((gpu) => this.#competitionFor({ ...requirements, gpu }, waiting));
      const counted = all.some(({ open }) => open.length > 0)
        ? all.filter(({ open }) => open.length > 0)
        : all;
      const isWaiting = waiting.some((other) => other.run === run);
      const ahead = counted.map(({ competing }) => (isWaiting ? this.#startsBefore(run, competing) : 0));
      assert.equal(position?.ahead, Math.min(...ahead));
      // A run with a decision waits for no model; its first one counts.
      const shown = isWaiting ? all : all.slice(0, 1);
      const [open, able] = [shown.flatMap((one) => one.open), shown.flatMap((one) => one.able)].map((ids) => [
        ...new Set(ids),
      ]);
      assert.ok(open && able);
      const whenOpen = limitAt(held, run, this.#shareOf) ?? 'busy';
      const whenWaiting =
        position?.capacity === 'warm' && run.request.warm_wait_s !== undefined ? 'warm' : whenOpen;
      assert.equal(position?.capacity === whenWaiting, open.length > 0);
      assert.equal(position?.capacity === 'draining', open.length === 0 && able.length > 0);
      const counts = scheduling.queries.waitReason(key)?.executors;
      assert.equal(counts?.serving, open.length);
      assert.equal(counts?.draining, able.length - open.length);
    }
  }

  /** The executors that can execute such a run, those that take it, and the waiting runs that these could execute too. */
  #competitionFor(requirements: Requirements, waiting: readonly KnownRun[]) {
    const able = [...this.#bed.scheduling.executors()].filter(
      ({ lossPending, capabilities }) => !lossPending && canServe(capabilities, requirements),
    );
    const open = able.filter(({ draining, id }) => !draining && !this.#drained.has(executorName(id)));
    const { gpu } = requirements;
    const competing = waiting.filter(
      (other) =>
        this.#modelsOf(other.run).includes(gpu) &&
        (open.length === 0 ||
          open.some(({ capabilities }) => canServe(capabilities, { ...other.requirements, gpu }))),
    );
    return { able, open, competing };
  }

  /** How many runs start before this one when all who wait are served in turn, by weight: played out, run by run. */
  #startsBefore(run: Run, waiting: readonly KnownRun[]): number {
    const left = new Set(waiting);
    const served = new Map<string, number>();
    const next = (flows: ReadonlyMap<string, number>, own: string): string => {
      const tagOf = (name: string): number => (served.get(name) ?? 0) / (flows.get(name) ?? 1);
      return [...flows.keys()].reduce((best, name) => {
        const [lowest, its] = [tagOf(best), tagOf(name)];
        return its < lowest || (its === lowest && name === own) ? name : best;
      });
    };
    for (let started = 0; ; started += 1) {
      const orgs = [...left].map(({ run: { org_id } }) => [org_id, this.#shareOf(org_id).weight] as const);
      const org = next(new Map(orgs), run.org_id);
      const ofOrg = [...left].filter(({ key }) => key.org_id === org);
      const deployments = ofOrg.map((one) => [deploymentOf(one.run), one.run.request.weight ?? 1] as const);
      const deployment = next(new Map(deployments), deploymentOf(run));
      const [first] = ofOrg
        .filter((one) => deploymentOf(one.run) === deployment)
        .toSorted((one, other) => (isBefore(one.run, other.run, Date.parse) ? -1 : 1));
      assert.ok(first);
      if (first.run === run) return started;
      left.delete(first);
      for (const name of [org, deployment]) served.set(name, (served.get(name) ?? 0) + 1);
    }
  }
}

const deploymentOf = ({ org_id, request }: Run): string => `${org_id} ${request.deployment_id}`;
