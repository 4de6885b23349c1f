import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { ExecutorId } from '@runledger/contracts/ids';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { isTermAnnouncement } from '@runledger/contracts/events/leader-terms';
import { giveBack } from '@runledger/gpu-executor/attempt/end-of-attempt.decide';
import {
  KnownTerms,
  attemptName,
  readAssignment,
  type Assignment,
} from '@runledger/gpu-executor/attempt/assignment.decide';
import type { World } from '../broker/world.ts';
import { executorIdOf } from '../plan/ids.ts';
import type { PlannedExecutor, PlannedRun } from '../plan/plan.ts';
import { type Process, Recent, type Life } from '../virtual-time.ts';
import { Attempt, LoadedPrograms } from './attempt.ts';
import { Ledger } from './ledger.ts';
import { Presence } from './presence.ts';

export interface ExecutorLifeOptions {
  readonly world: World;
  readonly process: Process;
  readonly planned: PlannedExecutor;
  readonly runOf: (run_id: string) => PlannedRun | undefined;
}

/** How long a stop waits for the runs under way. */
const STOP_WITHIN_MS = 10_000;
/** The last messages, which are delivered again after a reconnect. */
const REDELIVERED = 5;
/** Assignments that are not executed again, by far more than may come twice. */
const SEEN = 1_000;

/**
 * As services/gpu-executor/src/attempt/executor.ts, in virtual time: an executor from its start until it ends. Each start of a process is
 * another executor of its name.
 */
export class ExecutorLife implements Life {
  readonly id: ExecutorId;
  readonly #options: ExecutorLifeOptions;
  readonly #presence: Presence;
  readonly #programs = new LoadedPrograms(() => this.#presence.onLoadedChange());
  readonly #terms = new KnownTerms();
  readonly #underWay = new Map<string, Attempt>();
  /** Of void assignments, until they are given back. */
  readonly #voided = new Map<string, Ledger>();
  /** By slot: those that wait for the one before them. */
  readonly #occupied = new Map<number, Attempt[]>();
  readonly #seen = new Recent<string, true>(SEEN);
  /** Messages on their way. */
  #inbox: StoredMessage[] = [];
  #last: StoredMessage[] = [];
  #isReading = false;
  /** Nothing begins any more. */
  #isLeaving = false;

  constructor(options: ExecutorLifeOptions) {
    const { world, process, planned } = options;
    this.#options = options;
    const id = executorIdOf(process.name, process.life);
    this.id = id;
    const { slots, labels = [] } = planned;
    const busy = (): Heartbeat['runs'] => this.#busy();
    this.#presence = new Presence({
      world,
      process,
      id,
      slots,
      labels,
      busy,
      loaded: () => this.#programs.versions(),
      prepared: () => this.#programs.prepared(),
      terms: this.#terms,
    });
  }

  onFact(message: StoredMessage): void {
    this.#inbox.push(message);
    this.#read(this.#options.world.broker.deliveryMs(this.#options.process));
  }

  /** What was not acknowledged is delivered again, and what was, too. */
  onReconnect(): void {
    this.#inbox = [...this.#last, ...this.#inbox];
    this.#read(0);
  }

  /** Takes no new runs, waits for those that it has, and leaves. */
  stop(onStopped: () => void): void {
    const { process } = this.#options;
    this.#presence.drain();
    let waitedMs = 0;
    const wait = (): void => {
      if (this.#underWay.size > 0 && waitedMs < STOP_WITHIN_MS) {
        waitedMs += 1_000;
        return process.after(1_000, wait);
      }
      this.#isLeaving = true;
      for (const attempt of [...this.#underWay.values(), ...this.#voided.values()]) attempt.close();
      this.#presence.leave(onStopped);
    };
    wait();
  }

  #busy(): Heartbeat['runs'] {
    return [...this.#underWay.values()].map(({ assignment: { run_id, attempt, event } }) => ({
      slot: event.data.slot,
      run_id,
      attempt,
    }));
  }

  #read(afterMs: number): void {
    if (this.#isReading) return;
    this.#isReading = true;
    const { world, process } = this.#options;
    process.after(afterMs, () => {
      this.#isReading = false;
      const awayMs = world.broker.awayMs(process);
      if (awayMs > 0) return this.#read(awayMs + world.broker.delayMs(process.random));
      const { firstSequence } = world.log.identity;
      const messages = this.#inbox.filter(({ sequence }) => sequence >= firstSequence);
      this.#inbox = [];
      for (const message of messages) this.#handle(message);
      this.#last = [...this.#last, ...messages].slice(-REDELIVERED);
    });
  }

  #handle(message: StoredMessage): void {
    if (isTermAnnouncement(message.subject)) return void this.#terms.onTold(message);
    const subject = parseLifecycleSubject(message.subject);
    if (!subject) return;
    const about = attemptName(subject);
    if (subject.fact === 'assigned') this.#assign(message);
    else (this.#underWay.get(about) ?? this.#voided.get(about))?.receive(message);
  }

  #assign(message: StoredMessage): void {
    const read = readAssignment(message);
    if (read.kind !== 'assignment') throw new Error(`an assignment cannot be read: ${read.kind}`);
    const { assignment, head } = read;
    const name = attemptName(assignment);
    if (this.#isLeaving || this.#seen.get(name)) return;
    this.#seen.set(name, true);
    if (this.#terms.isVoid(assignment, head)) return this.#giveBack(name, assignment, head);
    const { world, process, runOf } = this.#options;
    const run = runOf(assignment.run_id);
    if (!run) throw new Error(`${assignment.run_id} is in no plan`);
    const { slot, workflow_version_id: version } = assignment.event.data;
    const planned = world.plan.deployments[run.deployment];
    const staysLoaded = planned?.version !== undefined;
    const program = this.#programs.programIn(slot, { version, staysLoaded, isCode: planned?.code === true });
    const waiting = this.#occupied.get(slot) ?? [];
    const onOver = (): void => {
      this.#underWay.delete(name);
      waiting.shift();
      if (waiting[0]) waiting[0].start();
      else this.#occupied.delete(slot);
    };
    const attempt = new Attempt({ world, process, run, program, onOver }, assignment, head);
    this.#underWay.set(name, attempt);
    waiting.push(attempt);
    this.#occupied.set(slot, waiting);
    if (waiting.length === 1) attempt.start();
  }

  #giveBack(name: string, assignment: Assignment, head: number): void {
    const { world, process } = this.#options;
    const ledger = new Ledger({ world, process, onStop: () => undefined }, assignment, head);
    this.#voided.set(name, ledger);
    ledger.append(giveBack, () => this.#voided.delete(name));
  }
}
