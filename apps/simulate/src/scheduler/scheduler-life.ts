import { BrokerClock } from '@runledger/coordination/broker-clock';
import { RUN_EVENTS } from '@runledger/contracts/events/run-event';
import { createScheduling, type Scheduling } from '@runledger/scheduler/core/scheduling';
import type { SchedulerInput } from '@runledger/scheduler/core/scheduler-input';
import type { World } from '../broker/world.ts';
import type { FleetFact, StoredHeartbeat } from '../broker/fleet-log.ts';
import type { LoggedMessage } from '../broker/run-log.ts';
import { organisationOf } from '../plan/ids.ts';
import type { Process, Life } from '../virtual-time.ts';
import { DecisionExecutor } from './decision-executor.ts';
import { LeaseHolder, type HeldLease } from './lease-holder.ts';
import { LogReader } from './log-reader.ts';
import type { SchedulerWatcher, WatchedScheduler } from './watcher.ts';

/** As services/scheduler/src, in virtual time. */
const MAX_TICK_MS = 1_000;
const SLOW_MS = 1_000;
const TICK_WITHIN_MS = 2_000;
const APPEND_WITHIN_MS = 12_000;
const SNAPSHOT_EVERY_MS = 60_000;
/** Of a request that the broker did not answer. */
const RETRY_MS = 250;
const SNAPSHOT_WITHIN_MS = 10_000;
const RUNS_BATCH = 32;
/** A log without a limit, and one in which nothing fits but what is reserved. */
const EMPTY = { bytes: 0, maxBytes: -1 } as const;
const FULL = { bytes: 1_000_000, maxBytes: 1_000_000 } as const;

/** From the moment at which it holds the lease. */
interface Leadership {
  readonly lease: HeldLease;
  /** Its number, once it has begun. */
  term: number;
}

/** A scheduler from its start until it is killed: its core, what it reads, and what it does while it leads. */
export class SchedulerLife implements Life, WatchedScheduler {
  readonly scheduling: Scheduling;
  readonly #world: World;
  readonly process: Process;
  readonly #watcher: SchedulerWatcher;
  readonly #clock = new BrokerClock();
  readonly #runs: LogReader;
  readonly #fleet: LogReader;
  readonly #beats: LogReader;
  /** The last message that was taken. */
  #runsRead = 0;
  #fleetRead = 0;
  readonly #heartbeats = new Map<string, StoredHeartbeat>();
  /** What it does once it has read up to there: before the election, and again before it decides. */
  #behind: { readonly runs: number; readonly fleet: number; readonly continue: () => void } | undefined;
  readonly #holder: LeaseHolder;
  #leadership: Leadership | undefined;
  #executor: DecisionExecutor | undefined;
  /** What it does when nothing of its last term is under way. */
  #onIdle: (() => void) | undefined;
  #isStopping = false;

  constructor(world: World, process: Process, watcher: SchedulerWatcher) {
    this.#world = world;
    this.process = process;
    this.#watcher = watcher;
    const { plan } = world;
    this.scheduling = createScheduling({
      heartbeatPeriodMs: plan.heartbeatPeriodMs,
      cancelEnforceMs: plan.cancelEnforceMs,
      shareOf: (org_id) => {
        const { weight = 1, limit = Infinity } = plan.organisations[organisationOf(org_id)] ?? {};
        return { weight, limit };
      },
    });
    watcher.onStarted(this);
    const readBy = (readNext: () => boolean, batch: number): LogReader =>
      new LogReader(world, process, { readNext, batch });
    this.#runs = readBy(() => this.#takeNextRunFact(), RUNS_BATCH);
    this.#fleet = readBy(() => this.#takeNextFleetFact(), 4);
    this.#beats = readBy(() => this.#takeNextHeartbeat(), RUNS_BATCH);
    this.#holder = new LeaseHolder(world, process);
    this.#restore();
    this.#readAllHeartbeats();
    this.#whenRead(this.#ends(), () => this.#elect());
    this.onRunFact();
    this.onFleetFact();
  }

  /** A log that forgets soon stands for one of an hour. */
  get #snapshotEveryMs(): number {
    return Math.min(SNAPSHOT_EVERY_MS, (this.#world.plan.gateway?.logAgeMs ?? Infinity) / 8);
  }

  get name(): string {
    return this.process.name;
  }

  get isLeading(): boolean {
    return this.#executor !== undefined;
  }

  /** The first message that it still has to read. */
  get readsFrom(): number {
    return this.#runsRead + 1;
  }

  onRunFact(): void {
    this.#runs.wake();
  }

  onFleetFact(): void {
    this.#fleet.wake();
  }

  onHeartbeat(stored: StoredHeartbeat): void {
    // Of each executor the bucket has the last one.
    this.#heartbeats.delete(stored.heartbeat.executor_id);
    this.#heartbeats.set(stored.heartbeat.executor_id, stored);
    this.#beats.wake();
  }

  /** The connection was restored: some messages are delivered again. */
  onReconnect(): void {
    this.#take({ type: 'reset_heartbeats', because: 'reconnect', connectedMs: this.process.clock });
    this.#holder.forget();
    const { random } = this.process;
    this.#fleetRead = Math.max(this.#fleetRead - random.integer(0, 3), 0);
    this.onFleetFact();
    this.#readAllHeartbeats();
  }

  /** Stands by, and releases the lease when what is under way is stored. */
  stop(onStopped: () => void): void {
    this.#isStopping = true;
    const leadership = this.#leadership;
    const executor = this.#executor;
    this.#leadership = undefined;
    this.#standBy();
    const finish = (): void => {
      leadership?.lease.release();
      this.process.after(100, onStopped);
    };
    if (!executor || executor.isIdle) finish();
    // It waits for the broker for a while only.
    else this.process.after(2_000, finish);
  }

  #restore(): void {
    const { log, snapshots } = this.#world;
    const { last } = snapshots;
    if (!last) return;
    for (const drained of last.drained) this.#take({ type: 'drained_name', drained });
    this.#take({ type: 'durations', records: last.durations });
    // Its last message shows that it is of this log.
    if (log.identity.firstSequence > last.sequence) return;
    this.scheduling.restore(last.rows);
    for (const { key, head, event_id, run } of last.runs) {
      this.#take({ type: 'run_fact', key, history: { head, state: run }, event_id, writer: 'gateway' });
    }
    this.#runsRead = last.sequence;
  }

  #readAllHeartbeats(): void {
    for (const stored of this.#world.fleet.heartbeats()) this.onHeartbeat(stored);
  }

  #take(input: SchedulerInput): void {
    const decisions = this.scheduling.take(input);
    this.#watcher.onInput(this, input, decisions);
    if (decisions.length > 0) this.#executor?.begin(decisions);
  }

  #takeNextRunFact(): boolean {
    const { log } = this.#world;
    const message = log.nextFrom(this.#runsRead + 1);
    if (!message) {
      this.#runsRead = log.lastSequence;
      this.#continueWhenRead();
      return false;
    }
    this.#runsRead = message.sequence;
    if (!('key' in message)) return true;
    const { key } = message;
    const accepted = log.accept(this.scheduling.historyOf(key), message);
    if (accepted.kind === 'accepted') {
      const { type, event_id } = accepted.fact.event;
      const { writer } = RUN_EVENTS[type];
      this.#take({ type: 'run_fact', key, history: accepted.history, event_id, writer });
    } else if (accepted.kind === 'gap') this.#readAgain(message);
    this.#clock.sample(Date.parse(message.time), this.process.clock);
    return true;
  }

  /** As services/scheduler/src/follow-runs.ts. Missing is only what the log has forgotten, or the end before a fact that is refused. */
  #readAgain({ key, sequence }: LoggedMessage): void {
    const { log } = this.#world;
    const read = log.read(key.run_id);
    const isRefused =
      read.kind === 'whole' && read.refused.some(({ message }) => message.sequence === sequence);
    if (log.isWhole(key.run_id) && !isRefused) return this.#watcher.onGap(this, sequence);
    if (read.kind !== 'whole') return this.#take({ type: 'run_unreadable', key });
    const { event } = read.facts.at(-1) ?? {};
    const writer = event ? RUN_EVENTS[event.type].writer : 'gateway';
    this.#take({ type: 'run_fact', key, history: read.history, event_id: event?.event_id ?? null, writer });
  }

  #takeNextFleetFact(): boolean {
    const fact = this.#world.fleet.at(this.#fleetRead + 1);
    if (!fact) {
      this.#continueWhenRead();
      return false;
    }
    this.#fleetRead = fact.sequence;
    if ('event' in fact) this.#applyFleetFact(fact);
    else if (fact.sequence > (this.#leadership?.term ?? Infinity)) this.#resign();
    return true;
  }

  #applyFleetFact(fact: FleetFact): void {
    this.#take({ type: 'fleet_fact', ...fact, connectedMs: this.process.clock });
  }

  #takeNextHeartbeat(): boolean {
    for (const [executor, { heartbeat, time }] of this.#heartbeats) {
      this.#heartbeats.delete(executor);
      this.#take({ type: 'heartbeat', heartbeat, time, connectedMs: this.process.clock });
      return true;
    }
    return false;
  }

  #ends(): { readonly runs: number; readonly fleet: number } {
    return { runs: this.#world.log.lastSequence, fleet: this.#world.fleet.lastSequence };
  }

  #whenRead(ends: { readonly runs: number; readonly fleet: number }, next: () => void): void {
    this.#behind = { ...ends, continue: next };
    this.#continueWhenRead();
  }

  #continueWhenRead(): void {
    const behind = this.#behind;
    if (!behind || this.#runsRead < behind.runs || this.#fleetRead < behind.fleet) return;
    this.#behind = undefined;
    behind.continue();
  }

  #elect(): void {
    if (this.#isStopping) return;
    this.#holder.acquire(
      (lease) => {
        const leadership = { lease, term: Infinity };
        this.#leadership = leadership;
        this.#beginTerm(leadership);
      },
      () => this.#resign(),
    );
  }

  /** Another scheduler may lead. It takes part in the next election when nothing of its term is under way. */
  #resign(): void {
    const leadership = this.#leadership;
    const executor = this.#executor;
    this.#leadership = undefined;
    this.#standBy();
    const next = (): void => {
      leadership?.lease.release();
      this.#elect();
    };
    if (!executor || executor.isIdle) next();
    else this.#onIdle = next;
  }

  /** Asks the broker until it answers, as long as it leads. */
  #askAsLeader<Answer>(
    leadership: Leadership,
    work: () => Answer | undefined,
    then: (answer: Answer) => void,
  ): void {
    this.#world.broker.ask(this.process, APPEND_WITHIN_MS, work, (answer) => {
      if (this.#leadership !== leadership) return;
      if (answer !== undefined) then(answer);
      else this.process.after(RETRY_MS, () => this.#askAsLeader(leadership, work, then));
    });
  }

  /** As services/scheduler/src/lead.ts. */
  #beginTerm(leadership: Leadership): void {
    const { fleet } = this.#world;
    this.#askAsLeader(
      leadership,
      () => fleet.beginTerm(),
      (term) => {
        leadership.term = term;
        this.#whenRead({ runs: 0, fleet: term }, () => this.#announceTerm(leadership));
      },
    );
  }

  #announceTerm(leadership: Leadership): void {
    if (this.#leadership !== leadership) return;
    const { log } = this.#world;
    const { term } = leadership;
    const executors = this.scheduling.mayBegin();
    let [left, last] = [executors.length, 0];
    const readUpTo = (): void => this.#whenRead({ runs: last, fleet: term }, () => this.#lead(leadership));
    if (left === 0) return readUpTo();
    for (const executor of executors) {
      this.#askAsLeader(
        leadership,
        () => log.tell(executor, term),
        (told) => {
          [left, last] = [left - 1, Math.max(last, told)];
          if (left === 0) readUpTo();
        },
      );
    }
  }

  #lead(leadership: Leadership): void {
    if (this.#leadership !== leadership) return;
    const { broker } = this.#world;
    this.#askAsLeader(
      leadership,
      () => ({ hasCapacity: broker.hasCapacity }),
      ({ hasCapacity }) => this.#decide(leadership, hasCapacity),
    );
  }

  #decide(leadership: Leadership, hasCapacity: boolean): void {
    this.#applyLogSize(hasCapacity);
    this.#executor = new DecisionExecutor({
      world: this.#world,
      process: this.process,
      term: leadership.term,
      take: (input) => this.#take(input),
      onLoss: (loss) => this.#watcher.onLoss(this, loss),
      onIdle: () => {
        const onIdle = this.#onIdle;
        this.#onIdle = undefined;
        onIdle?.();
      },
    });
    this.#world.tell(() => `${this.name} leads in term ${leadership.term}`);
    this.#take({ type: 'lead', connectedMs: this.process.clock });
    this.#tick(this.#executor);
    this.process.after(this.#snapshotEveryMs, () => this.#saveOften(leadership));
  }

  #standBy(): void {
    if (!this.#executor) return;
    this.#world.tell(() => `${this.name} stands by`);
    this.#executor.end();
    this.#executor = undefined;
    this.#take({ type: 'stand_by' });
  }

  /** Each tick follows a round trip to the broker. */
  #tick(term: DecisionExecutor): void {
    if (this.#executor !== term) return;
    const { broker, plan } = this.#world;
    const sentMs = this.process.clock;
    broker.ask(
      this.process,
      TICK_WITHIN_MS,
      () => ({ clock: broker.clock, hasCapacity: broker.hasCapacity }),
      (answer) => {
        if (this.#executor !== term) return;
        const connectedMs = this.process.clock;
        if (!answer || connectedMs - sentMs > SLOW_MS) {
          this.#take({ type: 'reset_heartbeats', because: 'slow_round_trip', connectedMs });
        }
        if (answer) {
          this.#clock.sample(answer.clock, connectedMs, sentMs);
          this.#applyLogSize(answer.hasCapacity);
          const now = this.#clock.at(connectedMs);
          if (now !== undefined) this.#take({ type: 'tick', now, connectedMs });
        }
        this.process.after(Math.min(plan.heartbeatPeriodMs / 6, MAX_TICK_MS), () => this.#tick(term));
      },
    );
  }

  #applyLogSize(hasCapacity: boolean): void {
    this.#take({ type: 'log_size', ...(hasCapacity ? EMPTY : FULL) });
  }

  #saveOften(leadership: Leadership): void {
    if (this.#leadership !== leadership) return;
    const { broker, snapshots } = this.#world;
    const { kept, rows } = this.scheduling.freeze();
    const snapshot = {
      sequence: this.#runsRead,
      rows: [...rows],
      runs: kept.map(({ key, head, event_id, run }) => ({ key, head, event_id, run })),
      drained: [...this.scheduling.drainedNames()],
      durations: this.scheduling.durations(),
    };
    broker.ask(
      this.process,
      SNAPSHOT_WITHIN_MS,
      () => void (snapshots.last = snapshot),
      () => this.process.after(this.#snapshotEveryMs, () => this.#saveOften(leadership)),
    );
  }
}
