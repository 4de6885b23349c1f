import { signAttempt, type AttemptKeys } from '@runledger/contracts/attempt-token';
import { newUuid, type ExecutorId } from '@runledger/contracts/ids';
import type { MaskText } from '@runledger/contracts/log-masks';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { clearLogSlot, publishLogChunk } from '@runledger/event-log/streams/logs';
import { reportProgress } from '@runledger/event-log/streams/activity';
import { type Metrics, Counter, Gauge, observedGauge } from '@runledger/service-kit/metrics';
import type { IsolationLevel } from '@runledger/contracts/events/fleet-event';
import { type Assignment, KnownTerms } from './attempt/assignment.decide.ts';
import type { AttemptTools } from './attempt/execute-attempt.ts';
import { createExecutor, type Executor } from './attempt/executor.ts';
import type { Turns } from './attempt/turns.ts';
import type { GpuSlot } from './gpu-slots.ts';
import { appendTo, readSubjects } from './attempt/executor-log.ts';
import { openAttemptLog, type AttemptLogSettings, storeLog } from './attempt/attempt-log.ts';
import type { RunnerFor } from './runners/runner-type.ts';
import { fetchWithFiles, type InputFileSettings } from './transfer/fetch-input-files.ts';
import { workflowCache } from './transfer/fetch-assigned.ts';
import { openAttemptGateway } from './transfer/attempt-gateway.ts';
import { codeFetcher, modelFetcher } from './transfer/fetch-stored.ts';
import { storeList, storeFiles } from './transfer/store-files.ts';
import type { Enforcement } from './supervision/enforcement.ts';

interface ExecutorOptions {
  readonly executor_id: ExecutorId;
  readonly slots: readonly GpuSlot[];
  readonly runnerFor: RunnerFor;
  readonly turns: Turns;
  readonly workFolder: string;
  readonly keys: AttemptKeys;
  readonly gateway: URL;
  readonly workflowCacheBytes: number;
  readonly inputFiles: InputFileSettings;
  readonly heldBy: HeldBy;
  readonly metrics: Metrics;
  /** Stops the workflows; nothing more is stored. */
  readonly closing: AbortSignal;
  /** The consumer has ended. */
  readonly disconnected: AbortSignal;
}

export interface CountedExecutor {
  readonly executor: Executor;
  readonly terms: KnownTerms;
  readonly counts: ExecutorMetrics;
}

/** The executor of attempts on this log, with its metrics. */
export const openExecutor = (log: EventLog, options: ExecutorOptions): CountedExecutor => {
  const { metrics, slots, heldBy, closing, disconnected } = options;
  const { logger } = log;
  const terms = new KnownTerms();
  const executor = createExecutor({
    ledger: {
      append: appendTo(log),
      look: readSubjects(log),
      newId: newUuid,
      now: () => new Date(),
      closing,
      disconnected,
      onExpired: () => counts.attemptExpired(),
      log: logger,
    },
    terms,
    tools: toolsOf(log, options),
    log: logger,
    onOver: () => counts.attemptOver(),
  });
  const counts = executorMetrics(metrics, {
    slots: slots.length,
    heldBy,
    busy: () => executor.busy().length,
    clock: () => performance.now(),
  });
  return { executor, terms, counts };
};

const toolsOf = (
  log: EventLog,
  {
    executor_id,
    slots,
    runnerFor,
    turns,
    workFolder,
    keys,
    gateway,
    workflowCacheBytes,
    inputFiles,
  }: ExecutorOptions,
): AttemptTools => {
  const settings = {
    gateway,
    signAttempt: (assignment: Assignment) => signAttempt(keys, assignment, assignment.attempt),
    log: log.logger,
  };
  const workflows = workflowCache(workflowCacheBytes);
  return {
    log: log.logger,
    slots,
    runnerFor,
    turns,
    workFolder,
    random: Math.random,
    newId: newUuid,
    sendProgress: (run, report) =>
      reportProgress(log, run, run.attempt, executor_id, { ...report, time: new Date().toISOString() }),
    storeLog: (assignment, stored) => storeLog(settings, assignment, stored),
    openLog: (assignment, mask) => openAttemptLog(logSettings(log, assignment, mask)),
    fetch: (assignment, folders, options) =>
      fetchWithFiles({ ...settings, workflows, ...inputFiles }, assignment, folders, options),
    codeFetcherOf: (assignment) => codeFetcher(settings, openAttemptGateway(settings, assignment)),
    modelFetcherOf: (assignment) => modelFetcher(settings, openAttemptGateway(settings, assignment)),
    store: (assignment, files, storing) => storeFiles(settings, assignment, files, storing),
    storeList: (assignment, outputs, stop) => storeList(settings, assignment, outputs, stop),
  };
};

const logSettings = (log: EventLog, assignment: Assignment, mask: MaskText): AttemptLogSettings => ({
  mask,
  publish: (slot, chunk) => publishLogChunk(log, assignment, slot, chunk),
  clear: (slot) => clearLogSlot(log, assignment, slot),
  onReconnect: (listener) => log.onReconnect(listener),
  now: Date.now,
  clock: () => performance.now(),
});

interface ExecutorMetrics {
  readonly attemptOver: () => void;
  /** The log no longer holds what the attempt rests on. */
  readonly attemptExpired: () => void;
  /** The broker has stored a heartbeat. */
  readonly heartbeat: () => void;
}

/** What keeps programs from everything that is not their run, and to their limits. */
export interface HeldBy {
  readonly isolation: IsolationLevel;
  /** What programs can do to others all the same. */
  readonly isolation_gaps: readonly string[];
  readonly limits: Enforcement['kind'];
}

export interface ObservedExecutor {
  readonly slots: number;
  readonly heldBy: HeldBy;
  readonly busy: () => number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

export const executorMetrics = (
  metrics: Metrics,
  { slots, heldBy, busy, clock }: ObservedExecutor,
): ExecutorMetrics => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [metrics] });
  const over = counter('runledger_executor_attempts_total', 'Attempts that are over, with any outcome.');
  const expired = counter(
    'runledger_executor_attempts_expired_total',
    'Attempts that were stopped because the log no longer holds their events.',
  );
  const heartbeats = counter('runledger_executor_heartbeats_total', 'Heartbeats that the broker has stored.');
  const gauge = (name: string, help: string, value: () => number): void =>
    observedGauge(metrics, { name, help, value });
  let lastHeartbeatMs = clock();
  const inEffect = (name: string, help: string, kind: string): void =>
    new Gauge({ name, help, labelNames: ['kind'], registers: [metrics] }).set({ kind }, 1);
  inEffect(
    'runledger_executor_isolation',
    'What keeps programs from everything that is not their run, as tried at the start: 1 for what it is worth.',
    heldBy.isolation,
  );
  inEffect(
    'runledger_executor_limits',
    'What holds programs to their limits: 1 for the kind that is in effect.',
    heldBy.limits,
  );
  gauge('runledger_executor_slots', 'GPU slots of this executor.', () => slots);
  gauge('runledger_executor_slots_busy', 'Runs in the slots, including runs that wait for one to end.', busy);
  gauge(
    'runledger_executor_silence_seconds',
    'Time since the broker stored the last heartbeat. After a heartbeat period the scheduler declares this executor lost.',
    () => (clock() - lastHeartbeatMs) / 1_000,
  );
  return {
    attemptOver: () => over.inc(),
    attemptExpired: () => expired.inc(),
    heartbeat: () => {
      lastHeartbeatMs = clock();
      heartbeats.inc();
    },
  };
};
