import type { RunOrigin } from '@runledger/contracts/events/run-event-data';
import type { GpuModel } from '@runledger/contracts/gpu';
import type { OrgId } from '@runledger/contracts/ids';
import { isEnded, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WebhookHistory } from '@runledger/contracts/fold/webhook-chain';
import type { WebhookStatus } from './core/webhook-status.ts';
import type { Page } from './core/page.ts';
import type { ListRange } from './core/sort-key.ts';
import type { WebhookRow } from './core/webhook-row.ts';

/**
 * What is stored of a run, for reading: everything that the log says of it up to the later of the two heads. A view
 * whose `head` is 0 is kept from another log or an earlier release, and derived anew where the log has the run.
 */
export interface RunView {
  readonly head: number;
  readonly run: Run;
  readonly webhook: WebhookHistory;
}

/** How far the projection has come, and in which log: another log may have other events at the same sequences. */
export interface ProjectionPosition {
  /** The broker's time of the stream's creation. */
  readonly stream_created: string;
  readonly sequence: number;
  /** Of the event at `sequence`; null at the beginning. */
  readonly event_id: string | null;
}

/** Of runs that have not ended. */
export const OPEN_STATUSES: readonly Run['status'][] = ['queued', 'started', 'running', 'uploading'];

/** Which runs are listed: those of one organisation that every filter fits, newest first. */
export interface RunQuery extends ListRange {
  readonly org_id: OrgId;
  readonly statuses?: readonly Run['status'][];
  readonly deploymentId?: string;
  readonly workflowId?: string;
  readonly gpu?: GpuModel;
  readonly origin?: RunOrigin;
  /** At least 1. */
  readonly limit: number;
}

/** Which runs with a webhook are listed: those of one organisation, newest first. */
export interface WebhookQuery extends ListRange {
  readonly org_id: OrgId;
  readonly statuses: readonly WebhookStatus[];
  /** Of the callback, as `URL.host` gives it. */
  readonly host?: string;
  /** At least 1. */
  readonly limit: number;
}

/** The place of the views is away or did not answer in time. Nothing is lost: the log has it all. */
export class ViewsUnavailable extends Error {
  override readonly name = 'ViewsUnavailable';
  readonly code = 'views_unavailable';
}

/**
 * Where the run views are kept. Every method may throw ViewsUnavailable and may be called again then.
 * Nothing but `save` is atomic for more than one view, and `save` only for each view by itself.
 */
export interface RunViews {
  /** Several gateways see the same views, so one of them projects. */
  readonly shared: boolean;
  /** Never the run of another organisation. */
  find(key: RunKey): Promise<RunView | undefined>;
  /** Those of the runs that there are views of. */
  load(keys: readonly RunKey[]): Promise<RunView[]>;
  /**
   * Keeps each view that is not there, or neither of whose heads is before the present one's: a stale one changes
   * nothing. Both heads of the later of two views are later or the same, since each view is of the whole log up to
   * some point; so nothing is lost, whoever saves what in which order. Durable when it resolves.
   */
  save(views: readonly RunView[]): Promise<void>;
  /**
   * The newest first, in the order of their places; fewer than the limit, even none, where they are large, or so few of
   * those that were looked at fit that the page ends before its limit: `end` alone says whether the list goes on.
   */
  listRuns(query: RunQuery): Promise<Page<RunView>>;
  /** Runs with a webhook, in the same way. */
  listWebhooks(query: WebhookQuery): Promise<Page<WebhookRow>>;
  /** The runs of an organisation that are queued, counted up to a number. */
  countQueued(orgId: OrgId, atMost: number): Promise<number>;
  position(): Promise<ProjectionPosition | undefined>;
  /** Never moves back within one log, and does nothing for another one than that of the last `startAgain`. */
  savePosition(position: ProjectionPosition): Promise<void>;
  /** Views are derived anew from the log created at that time: their heads and the position go back to 0. Runs that the log no longer holds are kept. */
  resetTo(streamCreated: string): Promise<void>;
}

export const isSameRun = (view: RunView | undefined, key: RunKey): view is RunView =>
  view !== undefined && view.run.org_id === key.org_id && view.run.run_id === key.run_id;

/** The sequence up to which the view says everything; 0 for one that is to be derived anew. */
export const upTo = ({ head, webhook }: RunView): number => (head === 0 ? 0 : Math.max(head, webhook.head));

/** No message of the run can change what the view says, so it needs no comparison with the log. */
export const isSettledForGood = ({ run }: RunView): boolean => isEnded(run) && run.request.webhook === null;

/** Whether `next` may take the place of `present`. */
export const mayReplace = (present: RunView, next: RunView): boolean =>
  isSameRun(present, next.run) && present.head <= next.head && present.webhook.head <= next.webhook.head;
