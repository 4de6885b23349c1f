import type { Logger } from '@runledger/event-log/connect/observability';
import type { GpuSlot } from '../gpu-slots.ts';
import { type View, type Withheld, visibleHost } from '../isolation/isolation.ts';
import type { Sandbox, Supervisors } from '../supervision/supervisors.ts';
import { type ProcessEnd, type SupervisedProcess, logStrays } from '../supervision/supervised-process.ts';
import type { Limits } from './lifecycle.decide.ts';
import {
  hasLastingHome,
  processEnvironment,
  type HostEnvironment,
} from '../supervision/process-environment.ts';
import { SLOT_VARIABLE, type Mark } from '../supervision/stray-processes.ts';

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
  /** Looks at its code: a process of other code than there is now is ended before it gets another run. Left out where nobody knows it. */
  readonly code?: (maxAgeMs?: number) => Promise<string | null>;
  /** What the process may see. @throws when it cannot be shown */
  readonly view: (slot: GpuSlot, withheld: Withheld) => View;
  /** It may be kept from a run of one organisation to that of another one. */
  readonly shared: boolean;
  /**
   * Called whenever the process was started. The connection must read what the process writes, and is what runs get to talk to it. The
   * signal is aborted when the process has ended. `sandbox` has its folder, and brings those of a run into its view.
   */
  readonly connect: (process: SupervisedProcess, gone: AbortSignal, sandbox: Sandbox) => Connection;
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
  /** The hash of the code that the process was started with; null where nobody knows it. */
  readonly code: Promise<string | null>;
  /** The process has had runs of other organisations: what it writes of its own accord may be theirs. */
  readonly isMixed: boolean;
  /** Settles when the process has ended and nothing of it is left. Then the run has failed. */
  readonly ended: Promise<ProcessEnd>;
  /** The process can take the next run. */
  release(): void;
  /** The process must not take another run: it is killed. Resolves when nothing of it is left. */
  discard(): Promise<void>;
}

export interface ResidentHost {
  readonly env: HostEnvironment;
  readonly supervisors: Supervisors;
  readonly mark: Mark;
  /** From asking a process to end to SIGKILL. */
  readonly stopGraceMs: number;
  readonly log: Logger;
}

/** A process from its start until nothing of it is left. */
export interface StartedProcess<Connection> {
  readonly process: SupervisedProcess;
  readonly connection: Connection;
  readonly sandbox: Sandbox;
  readonly startedAt: number;
  /** As it was just before the process could read it. */
  readonly code: Promise<string | null>;
  /** Whose runs it has had. */
  readonly organisations: Set<string>;
  /** Settles when nothing of it is left. Never rejects. */
  readonly gone: Promise<ProcessEnd>;
}

/**
 * `org_id`: whose cache it has; null for a new one, of nobody.
 * @throws when the machine has no room for a process or a folder
 */
export const startProcess = <Connection extends ResidentConnection>(
  spec: ResidentSpec<Connection>,
  slot: GpuSlot,
  host: ResidentHost,
  org_id: string | null,
): StartedProcess<Connection> => {
  const { isolation, withheld } = host.supervisors;
  const cache = hasLastingHome(isolation, host.env, spec.env) ? null : { org_id, of: spec.name };
  const sandbox = host.supervisors.sandboxForResident(spec.view(slot, withheld), cache);
  const startedAt = performance.now();
  const code = spec.code?.() ?? Promise.resolve(null);
  const process = supervised(spec, slot, host, sandbox);
  const ending = new AbortController();
  const connection = spec.connect(process, ending.signal, sandbox);
  const gone = async (): Promise<ProcessEnd> => {
    const end = await process.ended;
    ending.abort();
    logStrays(end, host.log, { resident: spec.name, slot: slot.index });
    await sandbox.leave();
    return end;
  };
  return { process, connection, sandbox, startedAt, code, organisations: new Set(), gone: gone() };
};

const supervised = (
  { command, args, env, cwd }: ResidentSpec<ResidentConnection>,
  slot: GpuSlot,
  { env: hostEnvironment, mark, supervisors: { isolation } }: ResidentHost,
  sandbox: Sandbox,
): SupervisedProcess => {
  const host = visibleHost(isolation, hostEnvironment);
  const { folder: temporary, cache } = sandbox;
  try {
    return sandbox.start({
      command,
      args,
      env: {
        ...processEnvironment({ host, env, ...slot, temporary, cache, mark }),
        [SLOT_VARIABLE]: String(slot.index),
      },
      folder: cwd ?? sandbox.folder,
    });
  } catch (error) {
    void sandbox.leave();
    throw error;
  }
};
