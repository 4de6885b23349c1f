import assert from 'node:assert/strict';
import { executorName } from '@runledger/contracts/ids';
import { isExecuting } from '@runledger/contracts/fold/run';
import type { Assign, Decision } from '../../src/core/decisions/decision.ts';
import { canServe } from '../../src/core/slots/requirements.ts';
import type { RegisteredExecutor, Slot } from '../../src/core/fleet/registered-executor.ts';
import type { SchedulerInput } from '../../src/core/state/scheduler-input.ts';
import { PERIOD_MS, type World } from './world.ts';

/** What must hold after every single input, found out by looking at everything. */
export class Invariants {
  readonly #world: World;
  #leading = true;
  #decidedOn = new Set<string>();
  readonly #toldHeads = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #heardAt = new Map<string, number>();
  readonly #beats = new Map<string, string>();
  /** Names, from what was told of them last. */
  readonly #drained = new Set<string>();
  assigned = 0;
  lost = 0;

  constructor(world: World) {
    this.#world = world;
  }

  saw(input: SchedulerInput, decisions: readonly Decision[]): void {
    this.#remember(input);
    for (const decision of decisions) this.#check(decision);
    if (!this.#leading) assert.deepEqual(decisions, []);
    this.#noSlotHoldsTwo();
    if (this.#leading) this.#nobodyWaitsInVain();
    this.#placesAreRight();
  }

  #remember(input: SchedulerInput): void {
    const { connectedMs } = this.#world;
    switch (input.type) {
      case 'run_fact':
      case 'run_read_again': {
        const name = this.#world.nameOf(input.key);
        this.#toldHeads.set(name, Math.max(input.history.head, this.#toldHeads.get(name) ?? 0));
        if (input.history.state && 'ended_at' in input.history.state) this.#ended.add(name);
        break;
      }
      case 'fleet_fact':
        if (input.event.type === 'ExecutorRegistered')
          this.#heardAt.set(input.event.executor_id, input.connectedMs);
        if (input.event.type === 'ExecutorDrainRequested') this.#drained.add(input.event.executor_name);
        if (input.event.type === 'ExecutorResumeRequested') this.#drained.delete(input.event.executor_name);
        break;
      case 'heartbeat': {
        const { executor_id } = input.heartbeat;
        if (this.#beats.get(executor_id) !== input.time) this.#heardAt.set(executor_id, connectedMs);
        this.#beats.set(executor_id, input.time);
        break;
      }
      case 'reset_heartbeats':
        for (const executor of this.#heardAt.keys()) this.#heardAt.set(executor, connectedMs);
        break;
      case 'lead':
        this.#leading = true;
        for (const executor of this.#heardAt.keys()) this.#heardAt.set(executor, connectedMs);
        break;
      case 'stand_by':
        this.#leading = false;
        this.#decidedOn = new Set();
        break;
      case 'tick':
      case 'drained_name':
      case 'run_unreadable':
      case 'settled':
        break;
    }
  }

  #check(decision: Decision): void {
    if (decision.type === 'declare_lost') {
      this.lost += 1;
      const silentFor = this.#world.connectedMs - (this.#heardAt.get(decision.executor) ?? 0);
      assert.ok(silentFor >= PERIOD_MS, `an executor was silent for ${silentFor} ms only`);
      return;
    }
    const name = this.#world.nameOf(decision.key);
    const head = `${name} at ${decision.expected}`;
    assert.ok(!this.#decidedOn.has(head), `${head} is decided on twice`);
    this.#decidedOn.add(head);
    assert.ok(!this.#ended.has(name), `${name} has ended`);
    assert.equal(decision.expected, this.#toldHeads.get(name));
    if (decision.type === 'assign') this.#firstComeFirstServed(decision);
  }

  #firstComeFirstServed({ executor, run }: Assign): void {
    this.assigned += 1;
    assert.ok(!this.#drained.has(executorName(executor)), `${executor} is drained and gets a run`);
    const offer = [...this.#world.scheduling.executors()].find(({ id }) => id === executor)?.capabilities;
    for (const other of this.#world.scheduling.runs()) {
      const passedOver =
        offer !== undefined &&
        other.run.status === 'queued' &&
        !other.decided &&
        other.run.number < run.number &&
        other.requirements.gpu === run.request.gpu &&
        canServe(offer, other.requirements);
      assert.ok(!passedOver, `${run.run_id} passed over ${other.name}`);
    }
  }

  #noSlotHoldsTwo(): void {
    const seats = [...this.#world.scheduling.runs()].flatMap(({ slot: seat }) =>
      seat ? [`${seat.executor} slot ${seat.slot}`] : [],
    );
    assert.equal(new Set(seats).size, seats.length, seats.join(', '));
    const executing = [...this.#world.histories.values()].flatMap(({ state: run }) =>
      run && isExecuting(run) ? [`${run.attempt.executor_id} slot ${run.attempt.slot}`] : [],
    );
    assert.equal(new Set(executing).size, executing.length, executing.join(', '));
  }

  #nobodyWaitsInVain(): void {
    const runs = [...this.#world.scheduling.runs()];
    const held = new Set(runs.flatMap(({ slot: seat }) => (seat ? [`${seat.executor} ${seat.slot}`] : [])));
    const isFree = (executor: RegisteredExecutor, slot: Slot): boolean =>
      executor.confirmed &&
      !executor.lossPending &&
      !executor.draining &&
      !this.#drained.has(executorName(executor.id)) &&
      !held.has(`${executor.id} ${slot.number}`) &&
      !slot.leftover?.until;
    for (const { run, decided, requirements: demand, name } of runs) {
      if (run.status !== 'queued' || decided) continue;
      for (const executor of this.#world.scheduling.executors()) {
        const slots = [...executor.slots.values()].filter(
          (slot) => slot.gpu === demand.gpu && isFree(executor, slot),
        );
        const couldHave = slots.length > 0 && canServe(executor.capabilities, demand);
        assert.ok(!couldHave, `${name} waits for a slot that ${executor.id} has`);
      }
    }
  }

  #placesAreRight(): void {
    const { scheduling } = this.#world;
    const runs = [...scheduling.runs()];
    const waiting = runs.filter(({ run, decided }) => run.status === 'queued' && !decided);
    for (const { key, run, requirements: demand } of runs) {
      const place = scheduling.queries.queuePosition(key);
      if (run.status !== 'queued') {
        assert.equal(place, undefined);
        continue;
      }
      const able = [...scheduling.executors()].filter(
        ({ lossPending, capabilities: offer }) => !lossPending && canServe(offer, demand),
      );
      const open = able.filter(({ draining, id }) => !draining && !this.#drained.has(executorName(id)));
      const before = waiting.filter(
        (other) =>
          other.run.number < run.number &&
          other.requirements.gpu === demand.gpu &&
          (open.length === 0 || open.some(({ capabilities: offer }) => canServe(offer, other.requirements))),
      );
      const waits = waiting.some((other) => other.run === run);
      assert.equal(place?.ahead, waits ? before.length : 0);
      assert.equal(place?.capacity === 'busy', open.length > 0);
      assert.equal(place?.capacity === 'draining', open.length === 0 && able.length > 0);
      const counts = scheduling.queries.waitReason(key)?.executors;
      assert.equal(counts?.serving, open.length);
      assert.equal(counts?.draining, able.length - open.length);
    }
  }
}
