import type { Run } from '@runledger/contracts/run';
import type { RunKey } from '@runledger/contracts/subjects';

/** What is stored of a run, for reading: the fold of its history up to `head`. */
export interface RunView {
  readonly head: number;
  readonly run: Run;
}

/** How far the projection has come, and in which log: another log may have other events at the same sequences. */
export interface ProjectionPosition {
  /** The broker's time of the stream's creation. */
  readonly stream_created: string;
  readonly sequence: number;
  /** Of the event at `sequence`; null at the beginning. */
  readonly event_id: string | null;
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
  /** Keeps each view whose head is behind the given one's, or that is not there; a stale one changes nothing. Durable when it resolves. */
  save(views: readonly RunView[]): Promise<void>;
  position(): Promise<ProjectionPosition | undefined>;
  /** Never moves back within one log, and does nothing for another one than that of the last `startAgain`. */
  savePosition(position: ProjectionPosition): Promise<void>;
  /** Views are derived anew from the log created at that time: their heads and the position go back to 0. Runs that the log no longer holds are kept. */
  startAgain(streamCreated: string): Promise<void>;
}

export const isSameRun = (view: RunView | undefined, key: RunKey): view is RunView =>
  view !== undefined && view.run.org_id === key.org_id && view.run.run_id === key.run_id;
