import assert from 'node:assert/strict';
import type { GpuModel } from '@runledger/contracts/gpu';
import { executorName } from '@runledger/contracts/ids';
import { isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { Assign, Decision } from '../../src/core/decisions/decision.ts';
import { heldSlots, limitAt } from '../../src/core/invariants/held-slots.ts';
import { knownSlots, type KnownSlot } from '../../src/core/invariants/known-slots.ts';
import {
  fits,
  freeWarmSlot,
  holdsOutFor,
  modelsAt,
  type TickClock,
} from '../../src/core/invariants/placement-rules.ts';
import { waitsBesideSlot } from '../../src/core/invariants/waits-beside-slot.ts';
import type { ShareOf } from '../../src/core/runs/fair-queue.ts';
import type { KnownRun } from '../../src/core/runs/known-run.ts';
import { canServe, type Requirements } from '../../src/core/slots/requirements.ts';
import type { RegisteredExecutor } from '../../src/core/fleet/registered-executor.ts';
import type { SchedulerInput } from '../../src/core/state/scheduler-input.ts';
import { orgOf, PERIOD_MS, type TestBed } from './test-bed.ts';

/** An organisation that holds at most so many slots. */
export const LIMITED = { org: orgOf(2), slots: 1 };

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

  constructor(bed: TestBed) {
    this.#bed = bed;
  }

  check(input: SchedulerInput, decisions: readonly Decision[]): void {
    this.#remember(input);
    for (const decision of decisions) this.#checkDecision(decision);
    const assigned = decisions.filter((decision) => decision.type === 'assign');
    // The state before a decision is known if it is the only one.
    const [only] = assigned;
    if (only && assigned.length === 1) {
      this.#isNext(only);
      this.#isWarmFirst(only);
    }
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
        this.#decidedOn = new Set();
        break;
      case 'tick':
        this.#tickMs = input.now;
        break;
      case 'log_size':
      case 'drained_name':
      case 'durations':
      case 'run_unreadable':
      case 'settled':
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
    const head = `${name} at ${decision.expected}`;
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

  /**
   * In a deployment the first comes first, with a head start for its priority. And nobody is passed over who waits for such a slot and holds less than its fair share.
   * (Who is next beyond that is a test of its own.)
   */
  #isNext({ executor, run, gpu, slot: slotNumber }: Assign): void {
    const { scheduling } = this.#bed;
    const taken = this.#registered(executor)?.slots.get(slotNumber);
    assert.ok(taken, `${executor} is not registered and gets a run`);
    const takes = ({ run: other, slot, decided }: KnownRun): boolean =>
      slot ? slot.gpu === gpu : !decided && this.#modelsOf(other).includes(gpu);
    const runs = [...scheduling.runs()].filter(takes);
    const ofOrg = runs.filter(({ key }) => key.org_id === run.org_id);
    const ofDeployment = ofOrg.filter((one) => deploymentOf(one.run) === deploymentOf(run));
    const before = heldSlots([...scheduling.runs()].filter(({ key }) => key.run_id !== run.run_id));
    const slots = this.#slots();
    const couldStart = (known: KnownRun): boolean =>
      this.#waits(known) &&
      fits(known, taken, this.#modelsOf(known.run)) &&
      !holdsOutFor(known, taken, slots, this.#clock) &&
      !limitAt(before, known.run, shareOf);
    assert.equal(limitAt(before, run, shareOf), undefined, `${run.run_id} is beyond its limits`);
    for (const { run: other, name } of ofDeployment.filter(couldStart))
      assert.ok(isBefore(run, other), `${run.run_id} passed over ${name}`);
    this.#keepsToShares(runs, ({ org_id }) => org_id, run, couldStart);
    this.#keepsToShares(ofOrg, deploymentOf, run, couldStart);
  }

  #keepsToShares(
    runs: readonly KnownRun[],
    flowOf: (run: Run) => string,
    chosen: Run,
    couldStart: (known: KnownRun) => boolean,
  ): void {
    const next = flowOf(chosen);
    const flows = [...Map.groupBy(runs, ({ run }) => flowOf(run))].map(([name, own]) => ({
      name,
      // Before the decision.
      slots: own.filter(({ slot }) => slot !== undefined).length - (name === next ? 1 : 0),
      waits: name === next || own.some((known) => this.#waits(known)),
      couldStart: own.some(couldStart),
    }));
    const waiting = flows.filter((flow) => flow.waits);
    const fairShare = (waiting.reduce((sum, { slots }) => sum + slots, 0) + 1) / waiting.length;
    const got = flows.find(({ name }) => name === next)?.slots ?? 0;
    for (const { name, slots, couldStart: could } of waiting) {
      const isBelow = could && name !== next && slots + 1 <= fairShare;
      assert.ok(!isBelow || got <= slots, `${next} with ${got} slots passed over ${name} with ${slots}`);
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
    return knownSlots(scheduling, scheduling.runs(), (name) => this.#drained.has(name));
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
      shareOf,
      isDrained: (name) => this.#drained.has(name),
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
      const ahead = counted.map(({ competing }) => (isWaiting ? startsBefore(run, competing) : 0));
      assert.equal(position?.ahead, Math.min(...ahead));
      // A run with a decision waits for no model; its first one counts.
      const shown = isWaiting ? all : all.slice(0, 1);
      const [open, able] = [shown.flatMap((one) => one.open), shown.flatMap((one) => one.able)].map((ids) => [
        ...new Set(ids),
      ]);
      assert.ok(open && able);
      const whenOpen = limitAt(held, run, shareOf) ?? 'busy';
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
}

const shareOf: ShareOf = (org_id) => ({
  weight: 1,
  limit: org_id === LIMITED.org ? LIMITED.slots : Infinity,
});

const deploymentOf = ({ org_id, request }: Run): string => `${org_id} ${request.deployment_id}`;

/** A step of priority is worth a minute. */
const isBefore = (one: Run, other: Run): boolean => {
  const place = ({ created_at, request }: Run): number =>
    Date.parse(created_at) - 60_000 * (request.priority ?? 0);
  return place(one) - place(other) < 0 || (place(one) === place(other) && one.number < other.number);
};

/** How many runs start before this one when all who wait are served in turn: played out, run by run. */
const startsBefore = (run: Run, waiting: readonly KnownRun[]): number => {
  const left = new Set(waiting);
  const turns = new Map<string, number>();
  const next = (names: ReadonlySet<string>, own: string): string =>
    [...names].reduce((best, name) => {
      const [fewest, its] = [turns.get(best) ?? 0, turns.get(name) ?? 0];
      return its < fewest || (its === fewest && name === own) ? name : best;
    });
  for (let started = 0; ; started += 1) {
    const org = next(new Set([...left].map(({ key }) => key.org_id)), run.org_id);
    const ofOrg = [...left].filter(({ key }) => key.org_id === org);
    const deployment = next(new Set(ofOrg.map((one) => deploymentOf(one.run))), deploymentOf(run));
    const [first] = ofOrg
      .filter((one) => deploymentOf(one.run) === deployment)
      .toSorted((one, other) => (isBefore(one.run, other.run) ? -1 : 1));
    assert.ok(first);
    if (first.run === run) return started;
    left.delete(first);
    for (const name of [org, deployment]) turns.set(name, (turns.get(name) ?? 0) + 1);
  }
};
