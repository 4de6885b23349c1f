import type { AttemptError } from '@runledger/contracts/events/run-error';
import type { RunOfSlot } from '../../residents/resident-processes.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import type { LogLine } from '../../runners/runner.ts';

/** A server that executes the runs of a slot, one after the other. */
export interface ModelServer<Api> {
  readonly url: URL;
  /** Waits until it can execute a run. It is started when it is the executor's own. */
  acquire(waiting: Waiting, signal: AbortSignal): Promise<AcquiredServer<Api>>;
}

export interface Waiting {
  readonly run: RunOfSlot;
  /** It is not ready, or others are before this run. */
  readonly onLoading: () => void;
  /** What a server of the executor itself writes for this run: while it loads, and what is of the run afterwards. */
  readonly onLine: (line: LogLine) => void;
}

export type AcquiredServer<Api> =
  | { readonly kind: 'ready'; readonly lease: ServerLease<Api> }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  | { readonly kind: 'cancelled' };

/** One run has the server until it gives it back, once. */
export interface ServerLease<Api> {
  readonly api: Api;
  /** How long this run waited until it was loaded; 0 when it was warm. */
  readonly loadingMs: number;
  /** Settles when the executor's own server has ended. */
  readonly ended: Promise<ProcessEnd>;
  /** Aborted then. */
  readonly gone: AbortSignal;
  /** The executor started it, and can start it again. */
  readonly isOwn: boolean;
  /** A text without what clients must not see of the server. */
  readonly hide: (text: string) => string;
  /** It can take the next run. */
  release(): Promise<void>;
  /** A run goes on in it that cannot be stopped, or it takes no runs any more. The executor's own is killed. */
  discard(): Promise<void>;
}

/** What is special about the servers of a runner. */
export interface ServerType<Api> {
  /** What is loaded, such as the name of a model. */
  readonly title: string;
  /** For the beginning of a sentence, such as `The ComfyUI server`. */
  readonly name: string;
  /** Made anew for each process of the executor, which has its temporary folder; null for a server that runs anyway. */
  readonly connect: (url: URL, temporary: string | null) => Api;
  /** What it says about itself now. Never rejects. */
  readonly probe: (api: Api) => Promise<ServerState>;
  /** It is started with the executor, and not by the first run. */
  readonly preload: boolean;
  /** Where it makes files on the machine that it cannot be told to make elsewhere. */
  readonly scratch: readonly string[];
  /** A line that it wrote while it executed a run, as the log of that run has it; null when it is not of the run. */
  readonly runLine: (line: string) => string | null;
  /** A line that it wrote, for people; null when it is of no use to them. */
  readonly shownLine: (line: string) => string | null;
  /** Takes every line that the executor's own server writes, if it says there what its interface does not. */
  readonly hear: ((api: Api, line: string) => void) | null;
}

/** `why` is a whole sentence for people. */
export type ServerState =
  | { readonly kind: 'ready' }
  /** It has loaded, and executes something else. */
  | { readonly kind: 'busy'; readonly why: string }
  | { readonly kind: 'loading'; readonly why: string }
  /** It will take no run before it is started again. */
  | { readonly kind: 'never'; readonly why: string };
