import type { BlobStream } from '@runledger/contracts/blobs';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { RunActivity, RunCounts } from './counts.decide.ts';
import type {
  Page,
  ActivityQuery,
  ByIdQuery,
  CountQuery,
  FilesQuery,
  OldestQuery,
  RunQuery,
  UnsettledQuery,
  WebhookQuery,
} from './list-query.decide.ts';
import type { LogBeginning, ProjectionPosition } from './projection-start.decide.ts';
import type { UsedRecord, WebhookRow } from './stored-run.decide.ts';
import type { RunView, StoredView } from './run-view.ts';

/** The views are unavailable or did not respond in time. Nothing is lost: the log has everything. */
export class ViewsUnavailable extends Error {
  override readonly name = 'ViewsUnavailable';
  readonly code = 'views_unavailable';
}

/** A set of views that can be read from one end to the other. */
export interface AllViews {
  /** All views of all organisations, also those of deleted runs, in the order of their ids. */
  listAll(query: ByIdQuery): Promise<StoredView[]>;
}

/** What is read of a set to compare it with another one. */
export interface ComparedViews extends AllViews {
  /** The views of these runs, without runs that have none. */
  load(keys: readonly RunKey[]): Promise<StoredView[]>;
}

/** Lists, counts and sums of views. */
export interface ListingViews extends AllViews {
  /**
   * The newest first, in the order of their sort keys. A page may have fewer items than the limit, even none, when they
   * are large or when the search took too long. `end` alone says whether the list goes on.
   */
  listRuns(query: RunQuery): Promise<Page<RunView>>;
  /** How many of the runs that `listRuns` finds have each status. It looks at a bounded number of them. */
  countRuns(query: CountQuery): Promise<RunCounts>;
  /** What the runs of an organisation did, interval by interval; undefined when too many runs did something. */
  runActivity(query: ActivityQuery): Promise<RunActivity | undefined>;
  /** Runs with a webhook, in the same way. */
  listWebhooks(query: WebhookQuery): Promise<Page<WebhookRow>>;
  /** The oldest first. */
  listOldest(query: OldestQuery): Promise<Page<RunKey>>;
  /** The oldest first. */
  listUnsettled(query: UnsettledQuery): Promise<Page<RunKey>>;
  /** Counts the queued runs of an organisation, up to a number. */
  countQueued(orgId: OrgId, atMost: number): Promise<number>;
  /** Bytes of the output files of an organisation's runs whose last fact came on this day (UTC, `YYYY-MM-DD`) or later. */
  sumOutputBytes(orgId: OrgId, sinceDay: string): Promise<number>;
  /** The run that ended first comes first. */
  listWithFiles(query: FilesQuery): Promise<StoredView[]>;
  /** Views of all organisations with files to erase, in the order of their ids. */
  listToErase(query: ByIdQuery): Promise<StoredView[]>;
  /** Views of all organisations of deleted runs of which all is erased. The run that was deleted first comes first. */
  listErased(limit: number): Promise<StoredView[]>;
}

/** What reads by which records and blobs a run refers to. */
export interface ReferenceViews {
  /** Bytes of the inputs and lists of outputs in BLOBS that an organisation's runs refer to, equal ones once. */
  sumBlobBytes(orgId: OrgId): Promise<number>;
  /**
   * Which of these blobs of an organisation its runs refer to. A blob of BLOBS is referred to while the run is kept, a workflow
   * until the run has ended.
   */
  referredBlobs(orgId: OrgId, stream: BlobStream, hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /** A run that was queued with this record and has not ended. */
  findLiveRun(orgId: OrgId, record: UsedRecord): Promise<RunId | undefined>;
}

/** Views that are somewhere in the log. */
export interface PositionedViews {
  position(): Promise<ProjectionPosition | undefined>;
}

/** The part of a store that writes. */
interface WritingViews extends PositionedViews {
  /**
   * Stores each view, unless the stored one has a later head: a stale view changes nothing. Each view is of the whole log
   * up to some point, so both heads of the later view are later or the same. So nothing is lost when several gateways
   * save views in any order. Durable when it resolves.
   */
  save(views: readonly StoredView[]): Promise<void>;
  /**
   * Removes each view, unless the stored one has another head. Resolves with how many it removed. Only for a run of which the log
   * holds nothing: without a later head beside it, a stale view that a slow process saves would come back.
   */
  remove(views: readonly StoredView[]): Promise<number>;
  /**
   * Stores views that were made from those loaded before, as `save` does, and moves the position from exactly this one to the next, so
   * that the views always have what the position says. Every later call sees them. Durable a moment later: a crash takes both, and they
   * are derived again. False when the position is another one: the store was emptied, was restored from a copy, or another gateway
   * has moved it. Then it was another one before anything was stored, or what is lost of these views is derived again.
   */
  advance(views: readonly StoredView[], from: ProjectionPosition, to: ProjectionPosition): Promise<boolean>;
  /**
   * The views will be derived again from the log that was created at that time: all heads and the position go back to 0.
   * Runs that the log no longer has stay.
   */
  resetTo(beginning: ProjectionPosition): Promise<void>;
}

/** What facts are folded into: the live set, or one that is built beside it. */
export interface FoldedViews extends PositionedViews {
  readonly load: ComparedViews['load'];
  readonly advance: WritingViews['advance'];
  readonly resetTo: WritingViews['resetTo'];
}

/** What every set of views has. */
export interface StoredSet extends ComparedViews, ListingViews, ReferenceViews, WritingViews {
  /** Never the run of another organisation. */
  find(key: RunKey): Promise<StoredView | undefined>;
}

/**
 * Stores the run views. Every method may throw ViewsUnavailable, and may be called again then.
 * Only `save` is atomic, and only for each view by itself.
 */
export interface RunViews extends StoredSet {
  /** Several gateways see the same views, so one of them projects. */
  readonly shared: boolean;
  /** Resolves the next time that the position moves. Of views that this process alone writes. */
  readonly moved?: () => Promise<void>;
}

/**
 * What builds a set of views needs of it. Its position is the last of the log that is in it, and undefined before `resetTo` made it empty.
 */
export interface NextViews extends ComparedViews, WritingViews, AsyncDisposable {}

/** What the thread that builds a second set needs of it. */
export interface BuiltSet {
  /** Only one process has it open at a time. */
  open(): Promise<NextViews>;
}

/** A second set of views in a place of its own. */
export interface SetBeside extends BuiltSet {
  /** Whether one was begun. */
  exists(): Promise<boolean>;
  remove(): Promise<void>;
}

/** A second set of views, which is built beside the live one. At most one at a time. */
export interface NextSet extends SetBeside {
  /**
   * Makes it the live set, at the position `to`, and the former one is gone. False when the live set is not at `from`, or no longer there.
   * Nobody has it open.
   */
  replaceLive(from: ProjectionPosition | undefined, to: ProjectionPosition): Promise<boolean>;
}

/** Views that an earlier version made, in the same place. Their states are read, and nothing else of them. */
export interface FormerViews extends AllViews, AsyncDisposable {
  /** See `VIEW_VERSION`. */
  readonly version: number;
}

/** Where run views are stored. */
export interface ViewStore extends RunViews, AsyncDisposable {
  readonly next: NextSet;
  /** Undefined when this version has views of its own, or when there are none at all. While they are there, nothing else of the store can be used. */
  former(): Promise<FormerViews | undefined>;
  /**
   * Drops views of former versions that lack facts which the log has lost, once this version has views: a gateway of theirs could not
   * make them whole any more. Resolves with their versions.
   */
  dropFormer(log: LogBeginning): Promise<readonly number[]>;
}

/** What each call does, for errors. */
const CALLS = {
  find: 'reading a run view',
  load: 'loading run views',
  listRuns: 'listing run views',
  countRuns: 'counting run views',
  runActivity: 'reading the activity of runs',
  listWebhooks: 'listing runs with a webhook',
  listOldest: 'listing the oldest runs',
  listUnsettled: 'listing unsettled runs',
  listWithFiles: 'listing runs with files',
  listAll: 'listing all views',
  listToErase: 'listing views with files to erase',
  listErased: 'listing views of deleted runs',
  countQueued: 'counting queued runs',
  sumOutputBytes: 'adding up output bytes',
  sumBlobBytes: 'adding up the bytes of blobs',
  referredBlobs: 'looking for references to blobs',
  findLiveRun: 'looking for runs that have not ended',
  save: 'saving run views',
  remove: 'removing run views',
  position: 'reading the position of the projection',
  advance: 'saving run views and the position of the projection',
  resetTo: 'resetting the run views',
} as const satisfies Record<keyof StoredSet, string>;

type AnyCall = (...args: readonly unknown[]) => Promise<unknown>;
type MakeCall = (
  use: (set: StoredSet) => Promise<unknown>,
  name: keyof StoredSet,
  what: string,
) => Promise<unknown>;

/** A set whose calls `make` makes, of whatever set it chooses. */
export const eachCall = (make: MakeCall): StoredSet =>
  Object.fromEntries(
    Object.entries(CALLS).map(([name, what]) => {
      const method = name as keyof StoredSet;
      const call: AnyCall = (...args) => make((set) => (set[method] as AnyCall)(...args), method, what);
      return [name, call];
    }),
  ) as unknown as StoredSet;
