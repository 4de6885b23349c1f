import { eventIdOf, type StoredMessage } from '@runledger/contracts/fold/chain';
import { isDeleted } from '@runledger/contracts/fold/run';
import { countRuns } from '@runledger/contracts/room/run-counts';
import { ALL_LIFECYCLES, ALL_WEBHOOKS } from '@runledger/contracts/subjects/run-subjects';
import { respondToRedrives } from '@runledger/request-reply/redrive';
import { respondToViewDigests } from '@runledger/request-reply/view-digests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { follow, NewerVersion } from '@runledger/event-log/follow/follow';
import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import type { Logger } from '@runledger/event-log/connect/logger';
import { storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { matchesAny } from '@runledger/contracts/subjects/matches-filter';
import { settled } from '@runledger/event-log/messages/leader-state';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import { aborted, sleep } from '@runledger/resilience/abort';
import { within } from '@runledger/resilience/within';
import { foldedOf } from './core/fold-run.ts';
import { projectRuns, runsIn, type Gap, type RefusedFact } from './core/project-runs.ts';
import { beginningOf, type ProjectionPosition } from './core/projection-start.ts';
import { openPositionWatch, ViewsReplaced } from './position-watch.ts';
import { readStart } from './read-start.ts';
import { readView } from './read-view.ts';
import { redriveView } from './redrive-view.ts';
import { viewDigests } from './view-digests.ts';
import { isSameRun, type StoredView } from './core/run-view.ts';
import type { RunViews } from './run-views.ts';

export interface RunProjection extends AsyncDisposable {
  /** Not ok when it has stopped and does not try again: another gateway or a later release must continue. */
  state(): { readonly ok: true } | { readonly ok: false; readonly why: string };
  /** The last sequence that is in the views; undefined while another gateway projects. */
  position(): number | undefined;
  /** The latest position of the views that this process has seen, also while another gateway projects. */
  seenPosition(): ProjectionPosition | undefined;
}

export interface ProjectionOptions {
  readonly log: EventLog;
  readonly views: RunViews;
  readonly logger: Logger;
  /** The holder of the lease, for people. */
  readonly instance: string;
}

const EVERYTHING = 'runs.>';
const FACTS = [ALL_LIFECYCLES, ALL_WEBHOOKS];
const RETRY_AFTER_MS = 1_000;
const STOP_WITHIN_MS = 2_000;
const LEASE = 'projection';

/** Keeps the views up to date with the log. Of several gateways with shared views, one does it. */
export const openRunProjection = (options: ProjectionOptions): RunProjection => {
  const { log, logger } = options;
  const stop = new AbortController();
  let stopped: string | undefined;
  let position: (() => number) | undefined;
  const watch = openPositionWatch(options.views);

  const project = async (lost: AbortSignal): Promise<void> => {
    let at = await begin(options, watch.latest());
    watch.set(at);
    const ended = AbortSignal.any([lost, stop.signal]);
    await using following = await follow(options.log, {
      stream: 'RUNS',
      // The position follows what is no fact too, so that a list knows when the views have everything.
      subjects: [EVERYTHING],
      after: at.sequence,
      onBatch: async (messages) => {
        at = await takeBatch(options, at, messages);
        watch.set(at);
      },
    });
    position = () => following.position();
    const failure = await Promise.race([following.failed, watch.behind(), aborted(ended)]);
    if (failure) throw failure;
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await asHolder(options, stop.signal, project);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof NewerVersion) {
          stopped = error.message;
          logger.error({ err: error }, 'the projection has stopped');
          return;
        }
        logger.warn({ err: error }, 'the projection was interrupted; trying again');
        await sleep(RETRY_AFTER_MS, stop.signal);
      } finally {
        position = undefined;
      }
    }
  };
  const running = run();
  // Every gateway responds, also while another one projects: any gateway may save a view of the log.
  const redriving = respondToRedrives(log, 'gateway', (request) => redriveView(options, request));
  const comparing = respondToViewDigests(log, (request) => viewDigests(options.views, request));
  return {
    state: () => (stopped === undefined ? { ok: true } : { ok: false, why: stopped }),
    position: () => position?.(),
    seenPosition: () => watch.latest(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      redriving[Symbol.dispose]();
      comparing[Symbol.dispose]();
      await watch[Symbol.asyncDispose]();
      // While the broker is unavailable, this may take too long. Then it ends with the connection.
      await within(STOP_WITHIN_MS, running, () => undefined);
    },
  };
};

const asHolder = async (
  { log, views, instance }: ProjectionOptions,
  signal: AbortSignal,
  work: (lost: AbortSignal) => Promise<void>,
): Promise<void> => {
  if (!views.shared) return work(signal);
  const lease = await acquireLease(log, { name: LEASE, holder: instance, ttlMs: LEASE_TTL_MS }, signal);
  try {
    await work(lease.lost);
  } finally {
    await lease.release();
  }
};

/** The position to go on from. `known` is the latest that this process has seen. */
const begin = async (
  { log, views, logger }: ProjectionOptions,
  known: ProjectionPosition | undefined,
): Promise<ProjectionPosition> => {
  const position = await views.position();
  const { identity, start } = await readStart(log, position, known);
  switch (start.kind) {
    case 'continue':
      return start.from;
    case 'start_again':
      // This is normal at the first start.
      logger[position ? 'warn' : 'info'](
        { because: start.because },
        'the run views are derived again from the log',
      );
      const beginning = beginningOf(
        identity,
        Math.max(position?.derivation ?? 0, known?.derivation ?? 0) + 1,
      );
      await views.resetTo(beginning);
      return beginning;
  }
};

/** The next position. The views go first: after a crash in between, the same facts change nothing. */
const takeBatch = async (
  options: ProjectionOptions,
  from: ProjectionPosition,
  messages: readonly StoredMessage[],
): Promise<ProjectionPosition> => {
  const { views } = options;
  const facts = messages.filter(({ subject }) => matchesAny(FACTS, subject));
  // What a view shows, a read of the log has to show too.
  await settled(options.log, messages.at(-1)?.sequence ?? 0);
  const present = await views.load(runsIn(facts));
  const projected = projectRuns(present, facts);
  if (projected.kind === 'newer_version') throw new NewerVersion(projected);
  for (const refused of projected.refused) await storeRefused(options, refused);
  const read: StoredView[] = [];
  for (const gap of projected.gaps) {
    const view = present.find((one) => isSameRun(one, gap.key));
    read.push(...(await closeGap(options, gap, view)));
  }
  const last = messages.at(-1);
  if (!last) return from;
  const counts = messages.reduce(countRuns, from.counts);
  const to = { ...from, sequence: last.sequence, event_id: eventIdOf(last), counts };
  if (await views.advance([...projected.views, ...read], from, to)) return to;
  throw new ViewsReplaced(`the views are not at ${from.sequence}, which was written last`);
};

const storeRefused = async (
  { log, logger }: ProjectionOptions,
  { message, why }: RefusedFact,
): Promise<void> => {
  logger.warn({ subject: message.subject, sequence: message.sequence, why }, 'a fact was refused');
  await storeDeadLetter(log, { consumer: LEASE, stored: message, reason: why });
};

const closeGap = async (
  options: ProjectionOptions,
  { key, message }: Gap,
  present: StoredView | undefined,
): Promise<StoredView[]> => {
  const { log, logger } = options;
  const read = await readView(log, key, message.sequence);
  switch (read.kind) {
    case 'whole':
      return [read.view];
    case 'webhook_damaged':
      // Of a deleted run they say nothing more, and their beginning may have expired.
      if (!isDeleted(read.run))
        await storeRefused(options, { message, why: 'the webhook facts of its run contradict each other' });
      return [{ head: read.head, run: read.run, webhook: foldedOf(present).webhook }];
    case 'none':
      return [];
    case 'newer_version':
      throw new NewerVersion(read);
    case 'damaged': {
      const { firstSequence } = await runsIdentity(log);
      // A run whose beginning has expired: its view, if there is one, stays as it is.
      if (read.expected < firstSequence) {
        logger.debug({ run_id: key.run_id, why: read.why }, 'the beginning of a run has expired');
        return [];
      }
      await storeRefused(options, { message, why: read.why });
      return [];
    }
  }
};
