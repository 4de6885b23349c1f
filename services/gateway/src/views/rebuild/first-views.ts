import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Logger } from '@runledger/event-log/connect/observability';
import { inBackground, sleep } from '@runledger/resilience/abort';
import type { Check } from '@runledger/service-kit/health-server';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import type { ProjectionPosition } from '../projection-start.decide.ts';
import { asHolder } from '../run-projection.ts';
import type { ComparedViews, FormerViews, ViewStore } from '../run-views.ts';
import { buildInThread, type BuildSettings } from './build-thread.ts';
import type { BuildProgress } from './build-views.ts';

/** What a gateway makes views from. */
export interface ViewSources {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: ViewStore;
  /** What the thread begins with, besides. */
  readonly order: BuildSettings;
  /** What the archive has of the present log. A run that it cannot read now is left out if it is known otherwise. */
  readonly archived: (isKnown: (key: RunKey) => Promise<boolean>) => AsyncIterable<MessagesOfRun>;
}

const RETRY_AFTER_MS = 1_000;

/**
 * Makes the views of this version where there are only those of another one: from the log, and from theirs for runs that the log has lost.
 * Until then this gateway is not ready, its store can be used for nothing else, and gateways of the other version serve.
 */
export const openFirstViews = (
  sources: ViewSources,
  /** The conditions of readiness. */
  checks: Record<string, Check>,
): AsyncDisposable =>
  inBackground(async (stop) => {
    while (!stop.aborted) {
      try {
        await makeFirst(sources, checks, stop);
        delete checks['views'];
        return;
      } catch (error) {
        if (stop.aborted) return;
        sources.logger.warn({ err: error }, 'the views of this version are not made yet; trying again');
        await sleep(RETRY_AFTER_MS, stop);
      }
    }
  });

const makeFirst = async (
  sources: ViewSources,
  checks: Record<string, Check>,
  signal: AbortSignal,
): Promise<void> => {
  const { log, logger, views, order } = sources;
  if (!(await isNeeded(views))) return;
  const holder = { log, views, instance: order.instance };
  await asHolder(holder, `projection.v${order.version}-first`, signal, async (ended) => {
    const former = await views.former();
    // Another gateway has made them meanwhile.
    if (!former) return;
    const from = { from_version: former.version, to_version: order.version };
    logger.info(from, 'the views of this version are made from the log and those of another version');
    const at = await buildFrom(former, sources, ended, ({ step, done, of }) => {
      checks['views'] = () => ({
        ok: false,
        why: `the views of version ${order.version} are being made: ${step}, ${done}${of === null ? '' : ` of ${of}`}`,
      });
    });
    await views.next.replaceLive(undefined, at);
    logger.info({ ...from, sequence: at.sequence }, 'the views of this version are made');
  });
};

const isNeeded = async (views: ViewStore): Promise<boolean> => {
  await using former = await views.former();
  return former !== undefined;
};

/** Nobody has the former views open afterwards. */
const buildFrom = async (
  former: FormerViews,
  { order, archived }: ViewSources,
  signal: AbortSignal,
  onProgress: (progress: BuildProgress) => void,
): Promise<ProjectionPosition> => {
  await using _ = former;
  // Another version says other things of a run, so there is nothing to compare.
  const live: ComparedViews = { listAll: (query) => former.listAll(query), load: async () => [] };
  const begun = { ...order, derivation: 1, isCompared: false };
  return (await buildInThread(begun, { live, archived: archived(async () => false) }, signal, onProgress)).at;
};

/** Drops views of former versions when a rollback to them could not make them whole any more. */
export const dropFormerViews = async (log: EventLog, views: ViewStore, logger: Logger): Promise<void> => {
  const versions = await views.dropFormer(await runsIdentity(log));
  if (versions.length > 0)
    logger.info({ versions }, 'views of former versions are dropped: the log has lost facts that they lack');
};
