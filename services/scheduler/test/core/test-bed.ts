import { errorOf } from '@runledger/contracts/events/run-error';
import { EMPTY_HISTORY, isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { executorId, orgId, runId, type ExecutorId, type OrgId } from '@runledger/contracts/ids';
import type { Heartbeat, FleetRequest } from '@runledger/contracts/events/fleet-event';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { GpuFallback } from '@runledger/contracts/run-options';
import { isDeleted, isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import {
  RUN_EVENTS,
  type RunEvent,
  type RunEventOf,
  type RunEventType,
} from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { type Decision, assignedEvent, endingEvent } from '../../src/core/decision.ts';
import type { OrgShare } from '../../src/core/runs/fair-queue.ts';
import { createScheduling, type Scheduling } from '../../src/core/scheduling.ts';
import type { Outcome, ResetCause, SchedulerInput } from '../../src/core/scheduler-input.ts';
import type { JudgedFact } from '@runledger/testing/invariants';
import { runRequest } from '@runledger/testing/run-events';

export const PERIOD_MS = 6_000;
export const ENFORCE_MS = 20_000;
export const ORG = orgId('01920000-0000-7000-8000-00000000000a');
const uuid = (n: number): string => `01920000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
/** The API key that requests drains. */
export const OPERATOR = uuid(8);

export interface RequestedRun {
  /** By default `ORG`. */
  readonly org?: string;
  /** A number. */
  readonly deployment?: number;
  readonly gpu?: GpuModel;
  readonly machine?: string;
  readonly program?: string;
  readonly fallbacks?: readonly GpuFallback[];
  readonly labels?: readonly string[];
  /** A workflow version, by a number. */
  readonly version?: number;
  readonly warmWaitS?: number;
  readonly startDeadlineS?: number;
  readonly runTimeoutS?: number;
  readonly maxAttempts?: number;
  readonly concurrencyLimit?: number;
  readonly weight?: number;
  readonly priority?: number;
  readonly key?: string;
  readonly delayS?: number;
  readonly startAt?: string;
}

export interface TestCapabilities {
  readonly gpus?: readonly GpuModel[];
  /** Names are of the organisation of the runs. */
  readonly machines?: readonly string[];
  readonly programs?: readonly string[];
  readonly labels?: readonly string[];
  readonly dedicated?: Readonly<Record<string, readonly string[]>>;
}

/** An organisation other than `ORG`, by a number. */
export const orgOf = (n: number): OrgId => orgId(uuid(0x0a00 + n));

/** The id of a workflow version, by a number. */
export const versionOf = (n: number): string => uuid(0x0e00 + n);

/** What organisations get of the slots: a weight of 1 and no limit by default. */
export type OrgShares = ReadonlyMap<string, Partial<OrgShare>>;

const newScheduling = (shares: OrgShares = new Map()): Scheduling =>
  createScheduling({
    heartbeatPeriodMs: PERIOD_MS,
    cancelEnforceMs: ENFORCE_MS,
    shareOf: (org_id) => ({ weight: 1, limit: Infinity, ...shares.get(org_id) }),
  });

/** A log, a clock and the core of a scheduler. Tests call runs and executors by short names. */
export class TestBed {
  scheduling: Scheduling;
  readonly histories = new Map<string, RunHistory>();
  readonly executorIds = new Map<string, ExecutorId>();
  /** What each executor says in its heartbeats, by slot. */
  readonly loaded = new Map<string, readonly (number | null)[]>();
  readonly prepared = new Map<string, readonly number[]>();
  /** Decisions that are not settled yet. */
  open: Decision[] = [];
  /** Facts that are stored but not delivered; null while each is delivered at once. */
  undelivered: SchedulerInput[] | null = null;
  /** Decisions of the last input. */
  last: readonly Decision[] = [];
  sequence = 0;
  fleetSequence = 0;
  nowMs = Date.UTC(2026, 0, 1);
  connectedMs = 1_000;
  #heartbeats = 0;
  readonly #names = new Map<string, string>();
  /** The ids of runs by their names, and the organisations of those that are not of `ORG`. */
  readonly #ids = new Map<string, string>();
  readonly #orgs = new Map<string, OrgId>();
  readonly #shares: OrgShares | undefined;

  constructor(shares?: OrgShares) {
    this.#shares = shares;
    this.scheduling = newScheduling(shares);
  }

  take(input: SchedulerInput): readonly Decision[] {
    if (this.undelivered && (input.type === 'run_fact' || input.type === 'fleet_fact')) {
      this.undelivered.push(input);
      return [];
    }
    return this.#decide(input);
  }

  /** Delivers the oldest facts that were held back. */
  deliver(count = Infinity): void {
    for (const input of this.undelivered?.splice(0, count) ?? []) {
      this.#decide(input.type === 'fleet_fact' ? { ...input, connectedMs: this.connectedMs } : input);
    }
  }

  /** Called with each input and the decisions on it. */
  onDecided: (input: SchedulerInput, decisions: readonly Decision[]) => void = () => undefined;

  /** Called with each fact that is stored. */
  onStored: (fact: JudgedFact) => void = () => undefined;

  #decide(input: SchedulerInput): readonly Decision[] {
    this.last = this.scheduling.take(input);
    this.open.push(...this.last);
    this.onDecided(input, this.last);
    return this.last;
  }

  key(run: string): RunKey {
    const known = this.#ids.get(run) ?? uuid(0x1000 + this.#names.size);
    this.#ids.set(run, known);
    this.#names.set(known, run);
    return { org_id: this.#orgs.get(run) ?? ORG, run_id: runId(known) };
  }

  nameOf(key: RunKey): string {
    return this.#names.get(key.run_id) ?? key.run_id;
  }

  run(name: string): Run | undefined {
    const run = this.histories.get(name)?.state;
    return run && !isDeleted(run) ? run : undefined;
  }

  lead(): void {
    this.take({ type: 'lead', connectedMs: this.connectedMs });
  }

  standBy(): void {
    this.take({ type: 'stand_by' });
  }

  /** Replaces the scheduler by one that has read the runs, but none of the executors. */
  forgetFleet(): void {
    this.scheduling = newScheduling(this.#shares);
    for (const [name, history] of this.histories) {
      this.take({ type: 'run_fact', key: this.key(name), history, event_id: null, writer: 'gateway' });
    }
  }

  register(name: string, capabilities?: TestCapabilities): void {
    this.registerAs(name, `${name}.0a1b2c3d4e5f`, capabilities);
  }

  registerAs(
    name: string,
    id: string,
    {
      gpus = ['A10G'],
      machines = ['*'],
      programs = ['render'],
      labels = [],
      dedicated = {},
    }: TestCapabilities = {},
  ): void {
    this.executorIds.set(name, executorId(id));
    this.#fleet(name, 'ExecutorRegistered', {
      slots: gpus.map((gpu, slot) => ({ slot, gpu })),
      machines: machines.map((machine) => (/^\w+$/.test(machine) ? `${ORG}/${machine}` : machine)),
      programs: [...programs],
      labels: [...labels],
      dedicated: Object.fromEntries(Object.entries(dedicated).map(([name, ids]) => [name, [...ids]])),
      public_key: `key-of-${name}`,
      isolation: 'weak',
      isolation_gaps: ['keep keys in the kernel'],
      limits: 'rlimits',
      software_version: '0.1.0',
    });
  }

  requestDrain(name: string, at: { readonly sequence?: number } = {}): void {
    this.#request(name, 'ExecutorDrainRequested', at);
  }

  requestResume(name: string, at: { readonly sequence?: number } = {}): void {
    this.#request(name, 'ExecutorResumeRequested', at);
  }

  leave(name: string): void {
    this.#fleet(name, 'ExecutorLeft', {});
  }

  lose(name: string): void {
    this.#fleet(name, 'ExecutorLost', { message: 'no heartbeat' });
  }

  drain(name: string): void {
    this.#fleet(name, 'ExecutorDraining', {});
  }

  /** `loaded`: by slot, which workflow version is loaded. */
  heartbeat(name: string, runs: Heartbeat['runs'] = [], loaded = this.loaded.get(name)): void {
    this.#heartbeats += 1;
    if (loaded) this.loaded.set(name, loaded);
    this.repeatHeartbeat(name, runs);
  }

  /** The last heartbeat again, as a restarted watch delivers it. */
  repeatHeartbeat(name: string, runs: Heartbeat['runs'] = []): void {
    this.take({
      type: 'heartbeat',
      heartbeat: {
        executor_id: this.id(name),
        count: this.#heartbeats,
        draining: false,
        runs,
        loaded: (this.loaded.get(name) ?? []).flatMap((version, slot) =>
          version === null ? [] : [{ slot, workflow_version_id: versionOf(version) }],
        ),
        prepared: (this.prepared.get(name) ?? []).map(versionOf),
      },
      time: `heartbeat ${this.#heartbeats}`,
      connectedMs: this.connectedMs,
    });
  }

  tickAfter(ms: number): void {
    this.nowMs += ms;
    this.connectedMs += ms;
    this.take({ type: 'tick', now: this.nowMs, connectedMs: this.connectedMs });
  }

  /** Time passes in ticks of half a second, in which the `alive` executors send heartbeats. */
  pass(ms: number, { alive = [] }: { readonly alive?: readonly string[] } = {}): void {
    const decided: Decision[] = [];
    for (let left = ms; left > 0; left -= 500) {
      for (const name of alive) {
        this.heartbeat(name, this.listed(name));
        decided.push(...this.last);
      }
      this.tickAfter(Math.min(left, 500));
      decided.push(...this.last);
    }
    this.last = decided;
  }

  /** The runs that an honest executor lists in its heartbeat. */
  listed(name: string): Heartbeat['runs'] {
    return [...this.histories.values()].flatMap(({ state: run }) =>
      run && isExecuting(run) && run.attempt.executor_id === this.id(name)
        ? [{ slot: run.attempt.slot, run_id: run.run_id, attempt: run.attempt.number }]
        : [],
    );
  }

  reset(because: ResetCause): void {
    this.take({ type: 'reset_heartbeats', because, connectedMs: this.connectedMs });
  }

  queue(name: string, request: RequestedRun = {}): void {
    if (request.org !== undefined) this.#orgs.set(name, orgId(request.org));
    this.append(
      name,
      'RunQueued',
      runRequest({
        deployment_id: uuid(0x0d00 + (request.deployment ?? 0)),
        machine_id: uuid(5),
        machine_name: request.machine ?? 'farm',
        runner: { kind: 'program', program: request.program ?? 'render' },
        gpu: request.gpu ?? 'A10G',
        ...(request.fallbacks && { gpu_fallbacks: [...request.fallbacks] }),
        ...(request.version !== undefined && { workflow_version_id: versionOf(request.version) }),
        ...(request.warmWaitS !== undefined && { warm_wait_s: request.warmWaitS }),
        ...(request.labels && { labels: [...request.labels] }),
        start_deadline_s: request.startDeadlineS ?? 3_600,
        run_timeout_s: request.runTimeoutS ?? 3_600,
        max_attempts: request.maxAttempts ?? 3,
        ...(request.concurrencyLimit === undefined ? {} : { concurrency_limit: request.concurrencyLimit }),
        ...(request.weight === undefined ? {} : { weight: request.weight }),
        ...(request.priority === undefined ? {} : { priority: request.priority }),
        ...(request.delayS === undefined ? {} : { delay_s: request.delayS }),
        ...(request.startAt === undefined ? {} : { start_at: request.startAt }),
        ...(request.key === undefined ? {} : { concurrency_key: request.key }),
      }),
    );
  }

  requestCancel(name: string): void {
    this.append(name, 'RunCancelRequested', { by: 'client', user_id: null });
  }

  start(name: string): void {
    this.append(name, 'RunStarted', { cold_start_s: 0 });
  }

  upload(name: string, bytes: number): void {
    this.append(name, 'RunUploading', { files: 1, bytes });
  }

  succeed(name: string): void {
    this.append(name, 'RunSucceeded', { outputs: [], outputs_blob: null });
  }

  failAttempt(name: string, retry_after_s: number): void {
    this.append(name, 'RunAttemptFailed', { error: errorOf('crashed', 'it is gone'), retry_after_s });
  }

  /** A gateway ends it, because the log no longer holds its beginning. */
  expire(name: string): void {
    const run = this.run(name);
    if (!run || isEnded(run)) throw new Error(`${name} is over`);
    const { number, request, created_at, queued_at, attempt } = run;
    this.append(name, 'RunExpired', {
      message: 'the log no longer holds its first event',
      number,
      request,
      created_at,
      queued_at,
      started_at: 'started_at' in run ? run.started_at : null,
      cold_start_s: 'cold_start_s' in run ? run.cold_start_s : null,
      attempt,
      cancel: 'cancel' in run ? run.cancel : null,
    });
  }

  /** A redrive reads the run again from the log, which may have facts that were not delivered. */
  readAgain(name: string): void {
    const key = this.key(name);
    const history = this.histories.get(name);
    if (!history || this.scheduling.isDeciding(key)) return;
    this.take({ type: 'run_read_again', key, history, event_id: null, writer: 'gateway' });
  }

  /** Stores a message that does not belong to the run, but moves its head. */
  forge(name: string): void {
    const history = this.histories.get(name) ?? EMPTY_HISTORY;
    this.sequence += 1;
    this.#deliverHistory(name, { ...history, head: this.sequence }, null, 'gateway');
  }

  /** Stores a fact of another writer at the head. */
  append<T extends RunEventType>(name: string, type: T, data: RunEventOf<T>['data']): void {
    const run = this.run(name);
    const key = this.key(name);
    const event = {
      type,
      version: 1,
      event_id: uuid(0x100_000 + this.sequence),
      ...key,
      time: new Date(this.nowMs).toISOString(),
      writer: { service: RUN_EVENTS[type].writer, instance: 'test' },
      attempt: run?.attempt?.number ?? 0,
      executor_id: run && isExecuting(run) ? run.attempt.executor_id : null,
      correlation_id: 'request-1',
      causation_id: null,
      traceparent: null,
      data,
      // The data fit the type: both come from one parameter.
    } as unknown as RunEvent;
    this.store(name, event);
  }

  /** Stores the event and delivers the fact. */
  store(name: string, event: RunEvent): void {
    this.sequence += 1;
    const time = new Date(this.nowMs).toISOString();
    const run = evolveRun(this.run(name), { event, sequence: this.sequence, time });
    if (isImpossible(run)) throw new Error(run.impossible);
    this.onStored({ event, before: this.histories.get(name)?.state, after: run });
    this.#deliverHistory(
      name,
      { head: this.sequence, state: run },
      event.event_id,
      RUN_EVENTS[event.type].writer,
    );
  }

  /** Settles every open decision as the log would: those on the head are stored, the others are refused. */
  settleAll(): void {
    const open = this.open;
    this.open = [];
    const decided: Decision[] = [];
    for (const decision of open) {
      this.settle(decision);
      decided.push(...this.last);
    }
    this.last = decided;
  }

  settle(decision: Decision): void {
    this.open = this.open.filter((other) => other !== decision);
    const stamp = {
      event_id: uuid(0x200_000 + this.sequence),
      time: '2026-01-01T00:00:00.000Z',
      instance: 'test',
    };
    if (decision.type === 'declare_lost') {
      const name = this.executorName(decision.executor);
      this.take({ type: 'settled', decision, outcome: 'stored' });
      return this.#fleet(name, 'ExecutorLost', { message: decision.message });
    }
    const name = this.nameOf(decision.key);
    if (this.histories.get(name)?.head !== decision.expected) {
      this.take({ type: 'settled', decision, outcome: 'refused' });
      return;
    }
    const event =
      decision.type === 'assign'
        ? assignedEvent(decision, stamp, { slot_allocation_id: uuid(6), inputs: {}, inputs_blob: null })
        : endingEvent(decision, stamp);
    this.take({ type: 'settled', decision, outcome: 'stored' });
    this.store(name, event);
  }

  /** It could not be executed, and nothing was stored. */
  fail(decision: Decision): void {
    this.#settleAs(decision, 'failed');
  }

  /** Settles the oldest open decision without storing it. */
  settleFirst(outcome: 'failed' | 'expired'): void {
    const [decision] = this.open;
    if (!decision) throw new Error('no decision is open');
    this.#settleAs(decision, outcome);
  }

  /** The log refuses the decision. The fact at that head has not arrived yet. */
  refuse(decision: Decision): void {
    this.#settleAs(decision, 'refused');
  }

  #settleAs(decision: Decision, outcome: Outcome): void {
    this.open = this.open.filter((other) => other !== decision);
    this.take({ type: 'settled', decision, outcome });
  }

  id(name: string): ExecutorId {
    const id = this.executorIds.get(name);
    if (id === undefined) throw new Error(`no executor is named ${name}`);
    return id;
  }

  executorName(id: string): string {
    return [...this.executorIds].find(([, known]) => known === id)?.[0] ?? id;
  }

  #deliverHistory(
    name: string,
    history: RunHistory,
    event_id: string | null,
    writer: (typeof RUN_EVENTS)[RunEventType]['writer'],
  ): void {
    this.histories.set(name, history);
    this.take({ type: 'run_fact', key: this.key(name), history, event_id, writer });
  }

  #fleet(name: string, type: string, data: object): void {
    this.take({
      type: 'fleet_fact',
      event: {
        type,
        version: 1,
        event_id: uuid(7),
        executor_id: this.id(name),
        time: '2026-01-01T00:00:00.000Z',
        ...data,
        // Each caller above gives what its type needs.
      } as never,
      sequence: this.#nextOfFleet(),
      time: new Date(this.nowMs).toISOString(),
      connectedMs: this.connectedMs,
    });
  }

  #request(
    executor_name: string,
    type: FleetRequest['type'],
    { sequence = this.#nextOfFleet() }: { readonly sequence?: number },
  ): void {
    const time = new Date(this.nowMs).toISOString();
    this.take({
      type: 'fleet_fact',
      event: { type, version: 1, event_id: uuid(7), executor_name, requested_by: OPERATOR, time },
      sequence,
      time,
      connectedMs: this.connectedMs,
    });
  }

  #nextOfFleet(): number {
    this.fleetSequence += 1;
    return this.fleetSequence;
  }
}

/** A decision as a sentence. */
const inWords = (bed: TestBed, decision: Decision): string => {
  if (decision.type === 'declare_lost') return `${bed.executorName(decision.executor)} is lost`;
  const run = bed.nameOf(decision.key);
  switch (decision.type) {
    case 'assign':
      return `${run} is assigned to ${bed.executorName(decision.executor)} slot ${decision.slot}, attempt ${decision.attempt}`;
    case 'requeue':
      return `${run} is requeued: ${decision.reason}`;
    case 'time_out':
      return `${run} is timed out: ${decision.reason}`;
    case 'give_up':
      return `${run} is given up: ${decision.reason}`;
    case 'enforce_cancel':
      return `the cancel of ${run} is enforced`;
  }
};

export type Step = (bed: TestBed) => void;

/** Returns the decisions on the last step, as sentences. */
export const given = (...before: readonly Step[]): { when: (step: Step) => string[] } => ({
  when: (step) => {
    const bed = new TestBed();
    bed.lead();
    for (const earlier of before) earlier(bed);
    bed.last = [];
    step(bed);
    return bed.last.map((decision) => inWords(bed, decision));
  },
});
