import { respondToRedrives, refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import { respondToViewDigests, viewDigest } from '@runledger/request-reply/view-digests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion } from '@runledger/event-log/follow/follow';
import { withLease } from '@runledger/coordination/lease';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { readStored } from '@runledger/event-log/read/run-messages';
import type { Logger } from '@runledger/event-log/connect/observability';
import { storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { aborted, inBackground, sleep } from '@runledger/resilience/abort';
import pLimit from 'p-limit';
import type {
  RedriveResponse,
  RedriveRequest,
  ViewDigestsRequest,
  ViewDigestsResponse,
} from '@runledger/contracts/requests/operator-requests';
import { orgId, runId } from '@runledger/contracts/ids';
import {
  beginProjection,
  goPastMissed,
  projectBatch,
  readView,
  type BeginProjecting,
} from './project-batch.ts';
import { factSubject, type RefusedFact } from './fold-run.decide.ts';
import type { ProjectionPosition } from './projection-start.decide.ts';
import { VIEW_VERSION } from './stored-run.decide.ts';
import { openPositionWatch, type PositionWatch } from './position-watch.ts';
import { ViewsUnavailable, type RunViews } from './run-views.ts';

/** How far the views are, as this process knows. */
export interface ProjectionPositions {
  /** The last sequence that is in the views; undefined while another gateway projects. */
  readonly position: () => number | undefined;
  /** The latest position of the views that this process has seen, also while another gateway projects. */
  readonly seenPosition: () => ProjectionPosition | undefined;
}

export interface RunProjection extends ProjectionPositions, AsyncDisposable {
  /** Not ok when it has stopped and does not try again: another gateway or a later release must continue. */
  state(): { readonly ok: true } | { readonly ok: false; readonly why: string };
  /**
   * Does the work between two batches, while the views stay at this position. The projection goes on from the position that the work
   * gives back, if it gives one. False, and nothing is done, while another gateway projects.
   */
  between(work: BetweenBatches): Promise<boolean>;
}

type BetweenBatches = (at: ProjectionPosition) => Promise<ProjectionPosition | undefined>;

interface LeaseHolder {
  readonly log: EventLog;
  readonly views: RunViews;
  /** The holder of the lease, for people. */
  readonly instance: string;
}

interface Projection extends LeaseHolder, Pick<BeginProjecting, 'archiveHasMore'> {
  readonly logger: Logger;
  /** `VIEW_VERSION`, but in tests: gateways of two versions keep views of their own. */
  readonly version?: number;
}

const EVERYTHING = 'runs.>';
const RETRY_AFTER_MS = 1_000;
/** In the name of what it could not fold, for people. */
const CONSUMER = 'projection';

/** Keeps the views up to date with the log. Of several gateways with shared views, one does it. */
export const openRunProjection = (options: Projection): RunProjection => {
  const { logger, version = VIEW_VERSION } = options;
  let stopped: string | undefined;
  let projecting: Begun | undefined;
  const watch = openPositionWatch(options.views);

  const running = inBackground(async (stop) => {
    while (!stop.aborted) {
      try {
        await asHolder(options, `projection.v${version}`, stop, (ended) =>
          project(options, watch, ended, (begun) => {
            projecting = begun;
          }),
        );
      } catch (error) {
        if (stop.aborted) return;
        if (error instanceof NewerVersion) {
          stopped = error.message;
          logger.error({ err: error }, 'the projection has stopped');
          return;
        }
        logger.warn({ err: error }, 'the projection was interrupted; trying again');
        await sleep(RETRY_AFTER_MS, stop);
      } finally {
        projecting = undefined;
      }
    }
  });
  const responding = respondAboutViews(options);
  return {
    state: () => (stopped === undefined ? { ok: true } : { ok: false, why: stopped }),
    position: () => projecting?.position(),
    seenPosition: () => watch.latest(),
    between: async (work) => {
      const present = projecting;
      await present?.between(work);
      return present !== undefined;
    },
    [Symbol.asyncDispose]: async () => {
      const stopping = running[Symbol.asyncDispose]();
      responding[Symbol.dispose]();
      await Promise.all([stopping, watch[Symbol.asyncDispose]()]);
    },
  };
};

/** A projection that is under way. */
interface Begun {
  readonly position: () => number;
  readonly between: (work: BetweenBatches) => Promise<void>;
}

const project = async (
  options: Projection,
  watch: PositionWatch,
  ended: AbortSignal,
  onBegun: (begun: Begun) => void,
): Promise<void> => {
  const batches = { ...options, onRefused: (refused: RefusedFact) => storeRefused(options, refused) };
  const inTurn = pLimit(1);
  let at = await beginProjection(options, watch.latest());
  watch.set(at);
  const goTo = (next: ProjectionPosition): void => {
    at = next;
    watch.set(at);
  };
  await using following = await follow(options.log, {
    stream: 'RUNS',
    // The position follows what is no fact too, so that a list knows when the views have everything.
    subjects: [EVERYTHING],
    after: at.sequence,
    onBatch: (messages) =>
      inTurn(async () => {
        const first = messages[0]?.sequence ?? 0;
        if (first > at.sequence + 1) {
          const identity = await runsIdentity(options.log);
          // The log may have lost these messages too since they were delivered.
          const firstSequence = Math.min(identity.firstSequence, first);
          goTo(await goPastMissed(options, at, { ...identity, firstSequence }));
        }
        goTo(await projectBatch(batches, at, messages));
      }),
  });
  onBegun({
    position: () => following.position(),
    between: (work) =>
      inTurn(async () => {
        const next = ended.aborted ? undefined : await work(at);
        if (next) goTo(next);
      }),
  });
  const failure = await Promise.race([following.failed, watch.behind(), aborted(ended)]);
  if (failure) throw failure;
};

/** Every gateway responds, also while another one projects: any gateway may save a view of the log. */
const respondAboutViews = (options: Projection): Disposable => {
  const { log, views } = options;
  const redriving = respondToRedrives(log, 'gateway', (request) => redriveView(options, request));
  const comparing = respondToViewDigests(log, (request) => viewDigests(views, request));
  return {
    [Symbol.dispose]: () => {
      redriving[Symbol.dispose]();
      comparing[Symbol.dispose]();
    },
  };
};

/** Of several gateways with shared views, one does the work. It ends with the signal that it gets. */
export const asHolder = (
  { log, views, instance }: LeaseHolder,
  name: string,
  signal: AbortSignal,
  work: (ended: AbortSignal) => Promise<void>,
): Promise<void> => (views.shared ? withLease(log, { name, holder: instance }, signal, work) : work(signal));

const storeRefused = async ({ log }: Projection, { message, why }: RefusedFact): Promise<void> => {
  await storeDeadLetter(log, { consumer: CONSUMER, stored: message, reason: why });
};

/**
 * Redrives a dead letter with this release: derives the view of its run again from the log.
 * @throws {LogUnavailable}
 */
export const redriveView = async (
  { log, views }: { readonly log: EventLog; readonly views: RunViews },
  request: RedriveRequest,
): Promise<RedriveResponse> => {
  const { stream, sequence } = request;
  if (stream !== 'RUNS') return refused(`The gateway does not project ${stream}.`);
  const stored = await readStored(log, sequence);
  if (!stored) return refusedAsMissing(request);
  const key = factSubject(stored.subject);
  if (!key) return refused(`It is still refused: ${stored.subject} is not the subject of a fact of a run.`);
  const read = await readView(log, key, sequence);
  switch (read.kind) {
    case 'none':
      return refused(`Run ${key.run_id} is not in the log: no message under its subjects is accepted.`);
    case 'damaged':
      return refused(`Run ${key.run_id} is still damaged: ${read.why}.`);
    case 'webhook_damaged':
      return refused(`The webhook facts of run ${key.run_id} still contradict each other.`);
    case 'newer_version':
      return refused(
        `Run ${key.run_id} has ${read.type} in version ${read.version}, which only a later release can read. Start that release.`,
      );
    case 'whole': {
      const wrong = read.refused.find(({ message }) => message.sequence === sequence);
      if (wrong) return refused(`It is still refused: ${wrong.why}.`);
    }
  }
  try {
    await views.save([read.view]);
  } catch (error) {
    if (!(error instanceof ViewsUnavailable)) throw error;
    return refused(`The views cannot be written: ${error.message}. Redrive again when they are available.`);
  }
  return taken(
    `The view of run ${key.run_id} was made again from the log: its status is ${read.view.run.status}.`,
  );
};

/** What the views say of runs, for somebody who compares it with the log. Undefined while they are unavailable. */
const viewDigests = async (
  views: RunViews,
  { runs }: ViewDigestsRequest,
): Promise<ViewDigestsResponse | undefined> => {
  const keys = runs.map(({ org_id, run_id }) => ({ org_id: orgId(org_id), run_id: runId(run_id) }));
  try {
    const loaded = await views.load(keys);
    return {
      views: loaded.map(({ head, run, webhook }) => ({
        run_id: run.run_id,
        head,
        webhook_head: webhook.head,
        sha256: viewDigest(run, webhook.state),
      })),
    };
  } catch (error) {
    if (error instanceof ViewsUnavailable) return undefined;
    throw error;
  }
};
