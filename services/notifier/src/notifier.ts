import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { outputLists } from '@runledger/blob-store/output-lists';
import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import type { ReceiversRequest } from '@runledger/contracts/deliveries/receivers';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { LEASE_TTL_MS } from '@runledger/coordination/lease';
import { holdPartitions } from '@runledger/coordination/hold-partitions';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { NewerVersion } from '@runledger/event-log/follow/follow';
import { readRun } from '@runledger/event-log/read/read-run';
import type { Metrics } from '@runledger/service-kit/metrics';
import type { BreakerSettings } from './core/breaker.ts';
import { hasExpired, oldestFactOf } from './core/delivery.ts';
import { decide } from './core/decide.ts';
import type { NotifierInput } from './core/inputs-and-effects.ts';
import { positionOf } from './core/partition.ts';
import { knownReceivers, type KnownReceivers } from './core/known-receivers.ts';
import { createNotifierState, hasFinal, nextTick } from './core/state.ts';
import type { DeliveryOptions } from './effects/effect-context.ts';
import { effectsRunner } from './effects/perform.ts';
import { notifierMetrics, observeNotifier } from './notifier-metrics.ts';
import { holdPartition, watchLogAge } from './held-partition.ts';
import { type ReadState, openSubscription } from './subscription.ts';
import { openTimersCapacity } from './timers-capacity.ts';
import {
  EXPIRED_TARGET,
  openWebhookTargets,
  webhookTargetOf,
  type WebhookTarget,
} from './webhook-targets.ts';
import { reconcileOften } from './reconcile-often.ts';

export interface NotifierOptions extends DeliveryOptions {
  readonly metrics: Metrics;
  readonly maxInFlight: number;
  readonly reconcileEveryMs: number;
  /** How many deliveries of an organisation a round checks before it turns to the others; thousands if absent. */
  readonly firstChecks?: number;
  readonly finishWithinMs: number;
  readonly breaker: BreakerSettings;
}

export interface Notifier extends AsyncDisposable {
  state(): ReadState;
  /** What it knows of an organisation's receivers, `most` at most. */
  receivers(request: ReceiversRequest, most: number): KnownReceivers;
  /** The number of partitions that it holds now. */
  partitions(): number;
}

/** Sends the notifications of the partitions that this process holds, until it is disposed. */
export const openNotifier = (options: NotifierOptions): Notifier => {
  const { log, finishWithinMs, instance, now } = options;
  const stop = new AbortController();
  const core = runCore(options);
  const targets = openWebhookTargets((key, atLeast) => readTarget(log, key, atLeast));
  const subscription = openSubscription({
    log,
    targets,
    handle: core.handle,
    consumedUpTo: (partition, stream) => core.state.partitions.get(partition)?.[stream].taken(),
  });
  const holding = { log, now, finishWithinMs, subscription, ...core };
  const age = watchLogAge(log, core.handle, stop.signal);
  const held = holdPartitions(
    log,
    { name: 'notifier', partitions: PARTITIONS, holder: instance, ttlMs: LEASE_TTL_MS },
    async (partition, over) => {
      await age.known;
      await holdPartition(holding, partition, over);
    },
  );
  const reconciling = reconcileOften({
    ...options,
    ...core,
    targets,
    everyMs: options.reconcileEveryMs,
    signal: stop.signal,
  });
  let failure: string | undefined;
  void held.failed.then((error) => {
    failure = error.message;
    log.logger.error({ err: error }, 'no partition can be held any longer');
  });
  return {
    state: () => (failure === undefined ? subscription.state() : { ok: false, why: failure }),
    partitions: () => core.state.partitions.size,
    receivers: (request, most) => knownReceivers(core.state, request, most),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await held[Symbol.asyncDispose]();
      await subscription[Symbol.asyncDispose]();
      core.close();
      await Promise.all([reconciling, age.watching]);
    },
  };
};

/** Runs the core: carries out its effects, and gives it the time. */
const runCore = (options: NotifierOptions) => {
  const { log, now, maxInFlight, giveUpAfterMs, breaker } = options;
  const clock = (): number => performance.now();
  const settings = { maxInFlight, giveUpAfterMs, breaker, instantOf: Date.parse };
  const state = createNotifierState(settings, clock());
  const metrics = notifierMetrics(options.metrics);
  observeNotifier(options.metrics, state, log);
  const signals = new Map<number, AbortSignal>();
  const idle = new Map<number, () => void>();
  const perform = effectsRunner({
    ...options,
    metrics,
    lists: outputLists({ blobs: openBlobStores(log).blobs, logger: log.logger }),
    handle: (input) => handle(input),
    hasFinal: ({ run_id }) => hasFinal(state, run_id),
    logAgeMs: () => state.logAgeMs,
    capacity: openTimersCapacity(log, clock),
    signalOf: (partition) => signals.get(partition) ?? AbortSignal.abort(),
    onIdle: (partition) => idle.get(partition)?.(),
  });
  const alarm = openAlarm(clock, () => handle({ type: 'tick' }));
  const handle = (input: NotifierInput): void => {
    const moment = { at: clock(), now: now().getTime(), chance: Math.random() };
    for (const effect of decide(state, input, moment)) perform(effect);
    alarm.set(nextTick(state));
  };
  alarm.set(nextTick(state));
  return {
    state,
    metrics,
    handle,
    signals,
    onLate: (seconds: number) => metrics.late(seconds),
    whenIdle: (partition: number) => new Promise<void>((resolve) => idle.set(partition, resolve)),
    positionOf: (number: number) => {
      const partition = state.partitions.get(number);
      return partition && positionOf(partition);
    },
    close: () => alarm[Symbol.dispose](),
  };
};

const readTarget = async (
  log: EventLog,
  key: RunKey,
  atLeast: number,
): Promise<WebhookTarget | null | undefined> => {
  const read = await readRun(log, key, { atLeast });
  switch (read.kind) {
    case 'found':
      return webhookTargetOf(read.run.request, oldestFactOf(read.facts, Date.parse));
    case 'none':
      return undefined;
    case 'deleted':
      return null;
    case 'damaged':
      if (hasExpired(read, 0, (await runsIdentity(log)).firstSequence)) return EXPIRED_TARGET;
      log.logger.error(
        { run_id: key.run_id, why: read.why },
        'a run cannot be read; its notifications are not sent',
      );
      return null;
    case 'newer_version':
      throw new NewerVersion(read);
  }
};

/** One timer for the next tick. */
interface Alarm extends Disposable {
  /** Rings at this time of the clock, or earlier. */
  set(at: number): void;
}

/** `clock`: monotonic, in milliseconds. */
const openAlarm = (clock: () => number, ring: () => void): Alarm => {
  let armedFor = Infinity;
  let timer: NodeJS.Timeout | undefined;
  return {
    set: (at) => {
      if (at >= armedFor) return;
      clearTimeout(timer);
      armedFor = at;
      timer = setTimeout(
        () => {
          armedFor = Infinity;
          ring();
        },
        Math.max(at - clock(), 0),
      );
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
};
