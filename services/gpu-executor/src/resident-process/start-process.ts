import type { GpuSlot } from '../gpu/gpu-slots.ts';
import { hasLastingHome } from '../caches/cache-environment.ts';
import { visibleHost } from '../isolation/isolation.ts';
import { logStrays } from '../supervision/log-strays.ts';
import { processEnvironment, type HostEnvironment } from '../supervision/process-environment.ts';
import { SLOT_VARIABLE, type Mark } from '../supervision/process-mark.ts';
import type { ProcessEnd, SupervisedProcess } from '../supervision/supervised-process.ts';
import type { Place, Supervisors } from '../supervision/supervisors.ts';
import type { ResidentConnection, ResidentSpec } from './resident-spec.ts';

export interface ResidentHost {
  readonly env: HostEnvironment;
  readonly supervisors: Supervisors;
  readonly mark: Mark;
  /** From asking a process to end to SIGKILL. */
  readonly stopGraceMs: number;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

/** A process from its start until nothing of it is left. */
export interface StartedProcess<Connection> {
  readonly process: SupervisedProcess;
  readonly connection: Connection;
  readonly place: Place;
  readonly startedAt: number;
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
  const place = host.supervisors.takeKept(spec.view(slot, withheld), cache);
  const startedAt = performance.now();
  const process = supervised(spec, slot, host, place);
  const ending = new AbortController();
  const connection = spec.connect(process, ending.signal, place);
  const gone = async (): Promise<ProcessEnd> => {
    const end = await process.ended;
    ending.abort();
    logStrays(end, host.log, { resident: spec.name, slot: slot.index });
    await place.leave();
    return end;
  };
  return { process, connection, place, startedAt, organisations: new Set(), gone: gone() };
};

const supervised = (
  { command, args, env, cwd }: ResidentSpec<ResidentConnection>,
  slot: GpuSlot,
  { env: hostEnvironment, mark, supervisors: { isolation } }: ResidentHost,
  place: Place,
): SupervisedProcess => {
  const host = visibleHost(isolation, hostEnvironment);
  const { folder: temporary, cache } = place;
  try {
    return place.start({
      command,
      args,
      env: {
        ...processEnvironment({ host, env, ...slot, temporary, cache, mark }),
        [SLOT_VARIABLE]: String(slot.index),
      },
      folder: cwd ?? place.folder,
    });
  } catch (error) {
    void place.leave();
    throw error;
  }
};
