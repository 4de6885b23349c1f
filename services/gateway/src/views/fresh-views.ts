import type { OrgId } from '@runledger/contracts/ids';
import { setTimeout as pause } from 'node:timers/promises';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { runsIdentity, type RunsIdentity } from '@runledger/event-log/read/stream-identity';
import { within } from '@runledger/resilience/within';
import { oneAtATime } from '@runledger/resilience/one-at-a-time';
import { ViewsUnavailable, type PositionedViews, type RunViews } from './run-views.ts';
import { areComplete, isContinued, lacksOf, type ProjectionPosition } from './projection-start.decide.ts';

interface FreshViewsOptions {
  readonly log: EventLog;
  readonly views: RunViews;
  /** The longest wait. After it, the caller goes on with the views as they are. */
  readonly timeoutMs: number;
  /** How long a reader of one run waits for views that are about to be fresh. */
  readonly momentMs?: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** Whose runs are asked for. Of `each`, the caller asks `lacksOf` at the position that it gets. */
type Whose = OrgId | 'each';

export interface FreshAt {
  /** As `becomeFresh`; resolves with the position at which they were, so that it can be compared with a later one. */
  readonly freshAt: (whose: Whose) => Promise<ProjectionPosition | undefined>;
}

/** Whether the views have every fact of an organisation that was in the log at the time of the call, or that has left it. */
export interface FreshViews extends FreshAt {
  /**
   * Now, or in a moment: facts that have just been stored reach the views of this process sooner than the log can be asked for one run.
   * May say false of views that have every fact, and always does of shared ones: their position is a request away, as the log is, so it
   * would save nothing. @throws {LogUnavailable} @throws {ViewsUnavailable}
   */
  readonly areFresh: (org_id: OrgId) => Promise<boolean>;
  /** Waits for it; false when they do not get there, have missed facts before, or when that is unknown. */
  readonly becomeFresh: BecomeFresh;
  /**
   * Whether the views have all that has left the log by now. Otherwise the archive may know more of a run of which the log holds nothing, or
   * not the beginning. What is read from the views afterwards has it too. @throws {LogUnavailable} @throws {ViewsUnavailable}
   */
  readonly areComplete: (org_id: OrgId) => Promise<boolean>;
  /**
   * Whether they had every fact some seconds ago, and lost nothing since: then they have whatever leaves the log now, which keeps facts for
   * an hour at least. As a rule the log is not asked. @throws {LogUnavailable} @throws {ViewsUnavailable}
   */
  readonly hadAllLately: (org_id: OrgId) => Promise<boolean>;
}

export type BecomeFresh = (org_id: OrgId) => Promise<boolean>;

const POLL_EVERY_MS = 25;
const MOMENT_MS = 25;
/** After a wait that was too short: the views are behind by more. */
const NO_WAIT_FOR_MS = 1_000;

const LATELY_MS = 10_000;

/**
 * What is read from the views after they were fresh shows everything that an earlier response of any gateway showed. When the views
 * did not move during a whole wait, because no gateway projects, nobody waits again until they have moved. `becomeFresh` throws no
 * errors of the views or the log: reading the views throws them, and a list needs no log.
 */
export const freshViews = (options: FreshViewsOptions): FreshViews => {
  const { log, views, timeoutMs } = options;
  const identity = oneAtATime(() => runsIdentity(log));
  const readPosition = oneAtATime(() => views.position());
  const readPositionLater = oneAtATime(async () => {
    await pause(POLL_EVERY_MS);
    return views.position();
  });
  let stuck: { readonly at: Position } | undefined;

  /** Undefined when waiting does not help, or when it is too late. It adds the positions that it sees to `seen`. */
  const caughtUp = async (whose: Whose, late: AbortSignal, seen: Position[]): Promise<Position> => {
    const { created, lastSequence: end } = await identity();
    const begin = await readPosition();
    const ifAll = (position: Position): Position =>
      hasAll(position, created, end, whose) ? position : undefined;
    if (stuck && isSame(stuck.at, begin)) return ifAll(begin);
    for (let position = begin; ; position = await readPositionLater()) {
      // What they missed before takes longer than a list can wait.
      if (reaches(position, created, end)) return ifAll(position);
      if (late.aborted) return undefined;
      seen.push(position);
    }
  };
  const freshAt: FreshViews['freshAt'] = async (whose) => {
    const late = new AbortController();
    const seen: Position[] = [];
    try {
      const found = await within(timeoutMs, caughtUp(whose, late.signal, seen), () => {
        late.abort();
        return undefined;
      });
      if (found) return found;
      const [first, ...others] = seen;
      if (others.length > 0 && others.every((position) => isSame(position, first))) stuck = { at: first };
      log.logger.debug({ timeout_ms: timeoutMs }, 'a list is read from views that are behind');
      return undefined;
    } catch (error) {
      if (!(error instanceof ViewsUnavailable) && !(error instanceof LogUnavailable)) throw error;
      log.logger.debug({ err: error }, 'the lag of the views is unknown');
      return undefined;
    }
  };
  return {
    areFresh: freshInAMoment(options),
    becomeFresh: async (org_id) => (await freshAt(org_id)) !== undefined,
    freshAt,
    hadAllLately: allLately(options, identity),
    areComplete: async (org_id) => {
      // In this order: the log forgets more meanwhile, and the views only move forward.
      const beginning = await identity();
      return areComplete(await readPosition(), beginning, org_id);
    },
  };
};

const allLately = (
  { views, clock }: FreshViewsOptions,
  identity: () => Promise<RunsIdentity>,
): FreshViews['hadAllLately'] => {
  /** The end of the log some time ago, and where the views were when they had come so far. */
  let end = { created: '', sequence: 0, time: -Infinity };
  let had: ProjectionPosition | undefined;
  return async (org_id) => {
    if (clock() > end.time + LATELY_MS) {
      const time = clock();
      const { created, lastSequence: sequence } = await identity();
      end = { created, sequence, time };
      had = undefined;
    }
    const position = await views.position();
    if (position?.stream_created !== end.created || lacksOf(position, org_id)) return false;
    if (!had && position.sequence >= end.sequence) had = position;
    return had !== undefined && isContinued(had, position);
  };
};

const freshInAMoment = ({
  log,
  views,
  momentMs = MOMENT_MS,
  clock,
}: FreshViewsOptions): FreshViews['areFresh'] => {
  let waitsFrom = -Infinity;
  /** Where the log ends, and then where the views are: once for all who ask in one turn. */
  const ends = oneAtATime(async () => [await runsIdentity(log), await views.position()] as const);
  return async (org_id) => {
    const { moved } = views;
    if (!moved) return false;
    const [{ created, lastSequence: end }, position] = await ends();
    // As a rule, and without a timer.
    if (hasAll(position, created, end, org_id)) return true;
    const haveAll = async (): Promise<boolean> => hasAll(await views.position(), created, end, org_id);
    const late = new AbortController();
    const reach = async (): Promise<boolean> => {
      for (;;) {
        // Before the position is read, which may move meanwhile.
        const move = moved();
        if (await haveAll()) return true;
        if (late.signal.aborted || clock() < waitsFrom) return false;
        await move;
      }
    };
    return within(momentMs, reach(), () => {
      late.abort();
      waitsFrom = clock() + NO_WAIT_FOR_MS;
      return false;
    });
  };
};

type Position = ProjectionPosition | undefined;

const isSame = (one: Position, other: Position): boolean =>
  one?.stream_created === other?.stream_created &&
  one?.derivation === other?.derivation &&
  one?.sequence === other?.sequence;

const reaches = (position: Position, created: string, sequence: number): boolean =>
  position?.stream_created === created && position.sequence >= sequence;

const hasAll = (position: Position, created: string, sequence: number, whose: Whose): boolean =>
  position !== undefined &&
  reaches(position, created, sequence) &&
  (whose === 'each' ? position.missed?.of !== null : !lacksOf(position, whose));

/**
 * What views answer that have every fact, before and after they are asked: so that what they do not know is not there. Undefined while that is
 * unknown: they are behind, have missed facts, or were emptied or replaced by a copy meanwhile. Whoever does something because the views lack a
 * run asks here. @throws {ViewsUnavailable} and what `ask` throws
 */
export const ofCompleteViews = async <Answer>(
  views: PositionedViews,
  fresh: FreshAt,
  whose: Whose,
  ask: (at: ProjectionPosition) => Promise<Answer>,
): Promise<Answer | undefined> => {
  const at = await fresh.freshAt(whose);
  if (!at) return undefined;
  const answer = await ask(at);
  // A copy that is older is behind it, and views that were derived again come from another derivation.
  return isContinued(at, await views.position()) ? answer : undefined;
};
