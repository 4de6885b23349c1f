import { setTimeout as pause } from 'node:timers/promises';
import { PARTITIONS, partitionOf } from '@runledger/contracts/deliveries/deliveries';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { NewerVersion } from '@runledger/event-log/follow/follow';
import { readRun } from '@runledger/event-log/read/read-run';
import { holdPartitions } from '@runledger/coordination/partitions/hold-partitions';
import { streamFill } from '@runledger/event-log/provision/stream-fill';
import { aborted } from '@runledger/resilience/abort';
import { countDeferred } from './timers/timers.ts';
import type { Metrics } from '@runledger/service-kit/observability/metrics';
import type { SigningSecrets } from '@runledger/webhooks/signing/signing-secrets';
import { openBreakers } from './breaker/breakers.ts';
import type { BreakerSettings } from './core/breakers/breaker-settings.ts';
import type { DeliveryContext } from './effects/delivery-context.ts';
import { openDispatcher } from './dispatch/dispatcher.ts';
import { notifierMetrics } from './notifier-metrics.ts';
import { webhookTargetOf, openWebhookTargets } from './subscription/webhook-targets.ts';
import { openFeed } from './subscription/subscription.ts';
import { openShare, type HeldShare } from './subscription/held-partition.ts';
import { sweepOnce } from './subscription/reconciliation.ts';
import type { Sender } from './sending/sender.ts';

export interface NotifierOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly sender: Sender;
  readonly secrets: SigningSecrets;
  /** Tells two notifiers apart. */
  readonly instance: string;
  /** The broker's, by which timers are due and receivers check signatures: that of this machine may be wrong. */
  readonly now: () => Date;
  readonly publicUrl: string;
  readonly basePath: string;
  readonly maxBytes: number;
  readonly giveUpAfterMs: number;
  readonly mostInFlight: number;
  readonly sweepEveryMs: number;
  readonly finishWithinMs: number;
  /** Where they are to differ from the usual ones. */
  readonly breaker?: Partial<BreakerSettings>;
}

export interface Notifier extends AsyncDisposable {
  state(): { readonly ok: true } | { readonly ok: false; readonly why: string };
}

/** How often parked deliveries are looked through for those whose time is over. */
const LOOK_FOR_EXPIRED_MS = 600_000;

/** Plans and sends the notifications of the shares that this process gets, until it is disposed. */
export const openNotifier = (options: NotifierOptions): Notifier => {
  const { log, logger, now, mostInFlight, sweepEveryMs } = options;
  const stop = new AbortController();
  const shares = new Map<number, HeldShare>();
  const shareAt = (origin: string): HeldShare | undefined => shares.get(partitionOf(origin));
  const clock = (): number => performance.now();

  const breakers = openBreakers({ now: () => now().getTime(), settings: options.breaker ?? {} });
  const dispatcher = openDispatcher({
    breakers,
    most: mostInFlight,
    clock,
    refill: async (receiver, most) => (await shareAt(receiver.origin)?.refill(receiver, most)) ?? false,
  });
  const metrics = notifierMetrics(options.metrics, {
    inFlight: () => dispatcher.inFlight,
    waiting: () => dispatcher.waiting,
    openBreakers: () => breakers.open,
    shares: () => shares.size,
    parked: () => countDeferred(log).catch(() => undefined),
    timers: () => streamFill(log, 'TIMERS'),
  });
  breakers.onChange((key, state) => {
    const [first = '', second] = key.split(' ');
    const at = second === undefined ? { origin: first, org_id: null } : { origin: second, org_id: first };
    shareAt(at.origin)?.onBreaker(at, state);
  });
  const callbacks = openWebhookTargets(async (key) => {
    const read = await readRun(log, key);
    switch (read.kind) {
      case 'found':
        return webhookTargetOf(read.run.request);
      case 'none':
        return null;
      case 'damaged':
        logger.error({ run_id: key.run_id, why: read.why }, 'a run cannot be read; nobody is told of it');
        return null;
      case 'newer_version':
        throw new NewerVersion(read);
    }
  });
  const feed = openFeed(log, callbacks);
  const parts: DeliveryContext = { ...options, metrics, random: Math.random };

  const sharing = holdPartitions(
    log,
    { name: 'notifier', partitions: PARTITIONS, holder: options.instance },
    async (number, over) => {
      const share = await openShare(
        { ...parts, dispatcher, breakers, feed, clock, finishWithinMs: options.finishWithinMs },
        number,
        over,
      );
      shares.set(number, share);
      try {
        const failure = await Promise.race([aborted(over), share.failed]);
        if (failure) throw failure;
      } finally {
        await share.close();
        shares.delete(number);
      }
    },
  );
  const expireEveryMs = Math.min(LOOK_FOR_EXPIRED_MS, options.giveUpAfterMs / 10);
  const sweep = async (): Promise<void> => {
    const onForgotten = (run_id: string): void => {
      metrics.forgotten();
      logger.error({ run_id }, 'a notification had been forgotten; the sweep found it, and it is sent now');
    };
    let expired = clock();
    while (!stop.signal.aborted) {
      await pause(sweepEveryMs, undefined, { signal: stop.signal });
      try {
        if (clock() - expired >= expireEveryMs) {
          expired = clock();
          for (const share of shares.values()) await share.expire();
        }
        await sweepOnce({ log, shares: () => shares.values(), onForgotten, signal: stop.signal });
      } catch (error) {
        logger.warn({ err: error }, 'the sweep was interrupted; it goes on later');
      }
    }
  };
  const sweeping = sweep().catch(() => undefined);
  let failure: string | undefined;
  void sharing.failed.then((error) => {
    failure = error.message;
    logger.error({ err: error }, 'no share can be held any more');
  });
  return {
    state: () => (failure === undefined ? feed.state() : { ok: false, why: failure }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await sharing[Symbol.asyncDispose]();
      await feed[Symbol.asyncDispose]();
      dispatcher.close();
      breakers.close();
      await sweeping;
    },
  };
};
