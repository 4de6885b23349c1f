import { isEnded } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook';
import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import type { Kit } from '../../kit.ts';
import { lastOfRun, readRun, type ReadRun } from '@runledger/event-log/read/read-run';
import { messagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import type { Archive } from '../../archive/archive.ts';
import { existing, upTo, type RunView, type StoredView } from '../../views/run-view.ts';
import { ViewsUnavailable } from '../../views/run-views.ts';
import type { FreshViews } from '../../views/fresh-views.ts';
import type { LatestWebhooks } from './latest-webhooks.ts';
import { factSubject, foldedOf, foldMessage, type Folded } from '../../views/fold-run.decide.ts';
import { openBreaker, type Breaker } from '../../breaker.ts';

export type CurrentRun =
  | ({ readonly kind: 'found' } & RunView)
  | { readonly kind: 'none' }
  /** A client deleted it. */
  | { readonly kind: 'deleted' }
  /** Neither the log nor the views show the state of the run. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** The views cannot be read, and the log does not have the run. */
  | { readonly kind: 'views_unavailable'; readonly why: string };

export type NoRun = Exclude<CurrentRun, { kind: 'found' }>;

/** @throws {LogUnavailable} @throws {ArchiveUnavailable} */
export type ReadCurrentRun = (key: RunKey) => Promise<CurrentRun>;

/** Where a run is looked for, beside the log. */
export interface Reading {
  readonly find: FindView;
  readonly fresh: FreshViews;
  readonly webhooks: LatestWebhooks;
  readonly archived: Archive['run'];
}

/**
 * The run now, never less than any response showed before. Its view is compared with the last message of the run at the
 * stream's leader; when the view is behind or missing, the log is folded. While the log is unavailable, a run that has ended is
 * shown as its view has it, and no less than this gateway showed, unless the log must confirm it. A request comes as far as this for half
 * a second after its key was proven (`records/keys/cached-authentication.ts`): so it outlives a change of leaders, and no long outage.
 */
export const currentRun = (
  kit: Kit,
  reading: Reading,
  /** Nothing is read without the log: for whoever stores something about another run by it, which the log would not refuse. */
  mustConfirm = false,
): ReadCurrentRun => {
  const read = readNow(kit, reading, mustConfirm);
  return async (key) => {
    const now = await read(key);
    if (now.kind === 'found') reading.webhooks.remember(key, now.webhook);
    return now;
  };
};

const readNow =
  ({ log, logger, metrics }: Kit, reading: Reading, mustConfirm: boolean): ReadCurrentRun =>
  async (key) => {
    const { find, fresh, webhooks } = reading;
    // Before the view is read, which then has everything too. Without the log, an ended run is shown all the same.
    const areFresh = log.connected() ? fresh.areFresh(key.org_id) : Promise.resolve(false);
    const isFresh = await areFresh.catch(() => false);
    const found = await find(key);
    const stored = found instanceof ViewsUnavailable ? undefined : found;
    const view = stored && existing(stored);
    // Nothing follows a deletion.
    if (stored && !view) return DELETED;
    if (isFresh && view) {
      metrics.runRead('views');
      return foundAs(view);
    }
    const known = found instanceof ViewsUnavailable ? found : view;
    const behind = (): Promise<ReadBehind> => readBehind(log, key, view, areFresh);
    const read = mustConfirm ? await behind() : await unlessEnded(view, log, behind);
    if (read.kind === 'found') metrics.runRead('log');
    else if (view) metrics.runRead('views');
    switch (read.kind) {
      case 'as_viewed':
        return foundAs(read.view);
      case 'log_unavailable':
        return foundAs({ ...read.view, webhook: webhooks.latest(key, read.view.webhook) });
      case 'found': {
        const { run, history, webhook } = read;
        if (!webhook) {
          logger.error({ run_id: key.run_id }, 'the webhook facts of a run contradict each other');
        }
        return foundAs({
          run,
          head: history.head,
          webhook: laterOf(webhook, view?.webhook),
        });
      }
      case 'deleted':
        return DELETED;
      case 'none':
        return (
          (await olderThanLog(reading, key, known, 'nothing')) ??
          (found instanceof ViewsUnavailable
            ? { kind: 'views_unavailable', why: found.message }
            : { kind: 'none' })
        );
      case 'damaged':
        // Usually the beginning of the run has expired. Its view, and the archive, are kept longer.
        logger[view ? 'debug' : 'error'](
          { run_id: key.run_id, why: read.why },
          'the history of a run is damaged',
        );
        return (await olderThanLog(reading, key, known, 'a part')) ?? { kind: 'unreadable', why: read.why };
      case 'newer_version':
        return {
          kind: 'unreadable',
          why: `${read.type} in version ${read.version} was written by a later release`,
        };
    }
  };

/**
 * A run of which the log has nothing, or not the beginning. Views that are complete have all that has left the log: what they do not know is
 * not there, and no archive is asked. Others may know less of it than the archive does.
 */
const olderThanLog = async (
  { find, fresh, archived }: Reading,
  key: RunKey,
  found: RunView | ViewsUnavailable | undefined,
  held: 'a part' | 'nothing',
): Promise<CurrentRun | undefined> => {
  const areComplete =
    !(found instanceof ViewsUnavailable) && (await fresh.areComplete(key.org_id).catch(ifViewsAreAway));
  // Again, since they may have become complete after it was read.
  const again = areComplete ? await find(key) : found;
  const view = found instanceof ViewsUnavailable ? undefined : found;
  const present = again instanceof ViewsUnavailable ? view : again;
  // A view that is behind what the log still has would show less than was shown.
  const left = held === 'nothing' ? present : undefined;
  const isAbsent = areComplete && again === undefined && held === 'nothing';
  const isKnown = isAbsent || (areComplete && present !== undefined);
  const stored = isKnown ? present : ((await archived(key, view)) ?? left);
  if (!stored) return undefined;
  const later = existing(stored);
  return later ? foundAs(laterView(later, view)) : DELETED;
};

/** Whether nobody has this run, unless the log has it: who stores its first fact is told so by the log. */
export type IsNewRun = (key: RunKey) => Promise<boolean>;

/** Of views that have all that leaves the log. Neither the log nor the archive is asked. */
export const isNewRun =
  ({ find, fresh }: Reading): IsNewRun =>
  async (key) =>
    (await fresh.hadAllLately(key.org_id).catch(ifViewsAreAway)) && (await find(key)) === undefined;

const ifViewsAreAway = (error: unknown): boolean => {
  if (!(error instanceof ViewsUnavailable)) throw error;
  return false;
};

/** One of another log has no positions here. */
const laterView = (read: RunView, viewed: RunView | undefined): RunView =>
  viewed && (upTo(viewed) > upTo(read) || (isEnded(viewed.run) && !isEnded(read.run))) ? viewed : read;

type ReadBehind = ReadRun | { readonly kind: 'as_viewed' | 'log_unavailable'; readonly view: RunView };

/** The log may have lost the webhook facts of a run that ended later, or their beginning. */
const laterOf = (read: WebhookHistory | undefined, viewed: WebhookHistory = EMPTY_HISTORY): WebhookHistory =>
  read && read.head >= viewed.head ? read : viewed;

const DELETED = { kind: 'deleted' } as const;

const foundAs = ({ head, run, webhook }: RunView): CurrentRun => ({ kind: 'found', head, run, webhook });

/** What the log says beyond the view. */
const readBehind = async (
  log: EventLog,
  key: RunKey,
  view: RunView | undefined,
  areFresh: Promise<boolean>,
): Promise<ReadBehind> => {
  // A log that did not answer is not asked again.
  await areFresh;
  const present = await lastOfRun(log, key);
  if (present === 0) return { kind: 'none', head: 0 };
  if (view && upTo(view) >= present) return { kind: 'as_viewed', view };
  const read = await readRun(log, key, { atLeast: present });
  const rest = view && isWithoutBeginning(read) ? await readRest(log, view, present) : undefined;
  return rest ? { kind: 'as_viewed', view: rest } : read;
};

/** What came before may be in the view. An expiry says everything, and counts only for a run that had not ended. */
const isWithoutBeginning = (read: ReadRun): boolean =>
  read.kind === 'damaged' || (read.kind === 'found' && read.facts[0]?.event.type === 'RunExpired');

const unlessEnded = async (
  view: RunView | undefined,
  log: EventLog,
  read: () => Promise<ReadBehind>,
): Promise<ReadBehind> => {
  if (!view || !isEnded(view.run)) return read();
  // A read would wait for the broker for seconds.
  if (!log.connected()) return { kind: 'log_unavailable', view };
  try {
    return await read();
  } catch (error) {
    if (error instanceof LogUnavailable) return { kind: 'log_unavailable', view };
    throw error;
  }
};

/**
 * The run when its beginning has expired: its view, and what the log still has of it up to `atLeast`. Undefined when facts that
 * the view lacks have expired too, or cannot be read. @throws {LogUnavailable}
 */
export const readRest = async (
  log: EventLog,
  view: RunView,
  atLeast: number,
): Promise<RunView | undefined> => {
  let folded: Folded = foldedOf(view);
  for (const message of await messagesOfRun(log, view.run)) {
    const about = factSubject(message.subject);
    const next = about && foldMessage(folded, about.chain, message);
    if (next?.kind === 'gap' || next?.kind === 'newer_version') return undefined;
    if (next && next.kind !== 'known') ({ folded } = next);
  }
  const { history, webhook } = folded;
  if (!history.state) return undefined;
  const read = existing({ head: history.head, run: history.state, webhook });
  return read && upTo(read) >= atLeast ? read : undefined;
};

/** What a writer decides on. */
export interface InLogOrCurrent {
  readonly found: Extract<ReadRun, { kind: 'found' }> | CurrentRun;
  /** Of its lifecycle in the log; undefined for a run of which the log does not have all. */
  readonly head: number | undefined;
}

/** The run as the log's leader has it, or as it is known otherwise. @throws {LogUnavailable} @throws {ArchiveUnavailable} */
export const inLogOrCurrent = async (
  log: EventLog,
  current: ReadCurrentRun,
  key: RunKey,
  atLeast: number,
): Promise<InLogOrCurrent> => {
  const read = await readRun(log, key, { atLeast });
  return read.kind === 'found'
    ? { found: read, head: read.history.head }
    : { found: await current(key), head: undefined };
};

type FindView = (key: RunKey) => Promise<StoredView | ViewsUnavailable | undefined>;

/** Longer than the views themselves take to report that they are unavailable. */
const TIMEOUT_MS = 5_000;

/** Unavailable views are a value: the caller continues with the log. */
export const openFindView = ({ views, logger }: Kit): Breaker<[RunKey], Awaited<ReturnType<FindView>>> => {
  // Of this process: nobody waits for them, and a breaker costs as much as a read.
  if (!views.shared)
    return { call: (key) => views.find(key).catch(ifUnavailable), [Symbol.dispose]: () => undefined };
  return openBreaker<[RunKey], Awaited<ReturnType<FindView>>>({
    action: (_signal, key) => views.find(key),
    timeoutMs: TIMEOUT_MS,
    opensOn: 'first_failure',
    fallback: (why) => {
      if (why.kind !== 'failed') return new ViewsUnavailable(`the run views are unavailable (${why.kind})`);
      logger.debug({ err: why.error }, 'a run view could not be read');
      return ifUnavailable(why.error);
    },
    onChange: (state) => {
      if (state === 'open')
        logger.warn({ views: 'unavailable' }, 'the run views are unavailable; runs are read from the log');
      else logger.info({ views: 'available' }, 'the run views are available again');
    },
  });
};

/** @throws {Error} any other one */
const ifUnavailable = (error: unknown): ViewsUnavailable => {
  if (error instanceof ViewsUnavailable) return error;
  throw error;
};
