import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/observability';
import { sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import type { Check } from '@runledger/service-kit/health-server';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import type { FormerViews, ViewStore } from '../run-views.ts';
import { buildInThread } from './build-in-thread.ts';
import type { ArchivedRun, BuildProgress, ComparedSet } from './build-views.ts';
import type { BuildSettings } from './worker-messages.ts';

interface FirstViewsOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  /** What the thread begins with, besides. */
  readonly order: BuildSettings;
  /** What the archive has of the present log behind a sequence. */
  readonly archived: (behind: number) => AsyncIterable<ArchivedRun>;
  /** The conditions of readiness. */
  readonly checks: Record<string, Check>;
}

const RETRY_AFTER_MS = 1_000;
const STOP_WITHIN_MS = 2_000;

/**
 * Makes the views of this version where there are only those of another one: from the log, and from theirs for runs that the log has lost.
 * Until then this gateway is not ready, its store can be used for nothing else, and gateways of the other version serve.
 */
export const openFirstViews = (options: FirstViewsOptions): AsyncDisposable => {
  const stop = new AbortController();
  const making = (async () => {
    while (!stop.signal.aborted) {
      try {
        await makeFirst(options, stop.signal);
        delete options.checks['views'];
        return;
      } catch (error) {
        if (stop.signal.aborted) return;
        options.logger.warn({ err: error }, 'the views of this version are not made yet; trying again');
        await sleep(RETRY_AFTER_MS, stop.signal);
      }
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await within(STOP_WITHIN_MS, making, () => undefined);
    },
  };
};

const makeFirst = async (options: FirstViewsOptions, signal: AbortSignal): Promise<void> => {
  const { log, logger, views, order, checks, archived } = options;
  if (!(await isNeeded(views))) return;
  const lease = views.shared
    ? await acquireLease(
        log,
        { name: `projection.v${order.version}-first`, holder: order.instance, ttlMs: LEASE_TTL_MS },
        signal,
      )
    : undefined;
  try {
    const former = await views.former();
    // Another gateway has made them meanwhile.
    if (!former) return;
    const from = { from_version: former.version, to_version: order.version };
    logger.info(from, 'the views of this version are made from the log and those of another version');
    const at = await buildFrom(former, {
      order,
      archived: archived(0),
      signal: lease ? AbortSignal.any([signal, lease.lost]) : signal,
      onProgress: ({ step, done, of }) => {
        checks['views'] = () => ({
          ok: false,
          why: `the views of version ${order.version} are being made: ${step}, ${done}${of === null ? '' : ` of ${of}`}`,
        });
      },
    });
    await views.next.replaceLive(undefined, at);
    logger.info({ ...from, sequence: at.sequence }, 'the views of this version are made');
  } finally {
    await lease?.release();
  }
};

const isNeeded = async (views: ViewStore): Promise<boolean> => {
  await using former = await views.former();
  return former !== undefined;
};

interface BuildingFrom {
  readonly archived: AsyncIterable<ArchivedRun>;
  readonly order: FirstViewsOptions['order'];
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

/** Nobody has the former views open afterwards. */
const buildFrom = async (former: FormerViews, { order, ...options }: BuildingFrom) => {
  await using _ = former;
  // Another version says other things of a run, so there is nothing to compare.
  const live: ComparedSet = { listAll: (query) => former.listAll(query), load: async () => [] };
  const begun = { ...order, derivation: 1, isCompared: false };
  const { at } = await buildInThread(begun, { live, ...options });
  return at;
};

/** Drops views of former versions when a rollback to them could not make them whole any more. */
export const dropFormerViews = async (
  log: EventLog,
  views: Pick<ViewStore, 'dropFormer'>,
  logger: Logger,
): Promise<void> => {
  const versions = await views.dropFormer(await runsIdentity(log));
  if (versions.length > 0)
    logger.info({ versions }, 'views of former versions are dropped: the log has lost facts that they lack');
};
