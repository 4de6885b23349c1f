import type { GpuSlot } from '../gpu/gpu-slots.ts';
import type { View, Withheld } from '../isolation/isolation.ts';
import type { Place } from '../supervision/supervisors.ts';
import type { ProcessEnd, SupervisedProcess } from '../supervision/supervised-process.ts';
import type { Limits } from './core/lifecycle.ts';

/** What a runner says about a process that it wants to keep between runs. */
export interface ResidentSpec<Connection extends ResidentConnection> {
  /** Its own among all that the executor keeps, such as `program render`. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** What the operator set for it. */
  readonly env: Readonly<Record<string, string>>;
  /** Without it the process runs in its temporary folder. */
  readonly cwd?: string;
  readonly limits: Limits;
  /** What the process may see. @throws when it cannot be shown */
  readonly view: (slot: GpuSlot, withheld: Withheld) => View;
  /** It may be kept from a run of one organisation to that of another one. */
  readonly shared: boolean;
  /**
   * Called whenever the process was started. The connection must read what the process writes, and is what runs get to talk to it. The
   * signal is aborted when the process has ended. `place` has its folder, and brings those of a run into its view.
   */
  readonly connect: (process: SupervisedProcess, gone: AbortSignal, place: Place) => Connection;
  /** Asks it to end, such as by the end of its input or SIGTERM. It is killed when it does not end. */
  readonly askToEnd: (process: SupervisedProcess) => void;
}

export interface ResidentConnection {
  /** Settles when it can take a run, with null, or when it never will, with the reason as a whole sentence for clients. Never rejects. */
  readonly ready: Promise<string | null>;
}

/** What a run gets that wants to use the process. */
export type Acquired<Connection> =
  | { readonly kind: 'ready'; readonly lease: Lease<Connection> }
  /** The process could not be made ready. `connection` is to the one that failed; null when none was started. */
  | { readonly kind: 'refused'; readonly why: StartFailure; readonly connection: Connection | null }
  /** The signal was aborted first. */
  | { readonly kind: 'cancelled' };

export type StartFailure =
  | { readonly kind: 'timeout'; readonly ms: number }
  | { readonly kind: 'ended'; readonly end: ProcessEnd }
  | { readonly kind: 'not_ready'; readonly why: string }
  /** The executor stops. */
  | { readonly kind: 'stopped' };

/** One run has the process to itself until it calls one of the last two members, once. */
export interface Lease<Connection> {
  readonly connection: Connection;
  /** How long this run waited for a process that was started but not ready; 0 when it was warm. */
  readonly loadingMs: number;
  /** The process has had runs of other organisations: what it writes of its own accord may be theirs. */
  readonly isMixed: boolean;
  /** Settles when the process has ended and nothing of it is left. Then the run has failed. */
  readonly ended: Promise<ProcessEnd>;
  /** The process can take the next run. */
  release(): void;
  /** The process must not take another run: it is killed. Resolves when nothing of it is left. */
  discard(): Promise<void>;
}
