import { mkdtempSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import type { GpuSlot } from '../gpu/gpu-slots.ts';
import { removeTree } from '../leftovers/remove-tree.ts';
import { logStrays } from '../supervision/log-strays.ts';
import { processEnvironment, type HostEnvironment } from '../supervision/process-environment.ts';
import { SLOT_VARIABLE, type Mark } from '../supervision/process-mark.ts';
import type { ProcessEnd, SupervisedProcess } from '../supervision/supervised-process.ts';
import type { Supervisors } from '../supervision/supervisors.ts';
import type { ResidentConnection, ResidentSpec } from './resident-spec.ts';

export interface ResidentHost {
  readonly env: HostEnvironment;
  /** For temporary folders. */
  readonly workFolder: string;
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
  readonly startedAt: number;
  /** Settles when nothing of it is left. Never rejects. */
  readonly gone: Promise<ProcessEnd>;
}

/** @throws when the machine has no room for a process or a folder */
export const startProcess = <Connection extends ResidentConnection>(
  spec: ResidentSpec<Connection>,
  slot: GpuSlot,
  host: ResidentHost,
): StartedProcess<Connection> => {
  const temporary = mkdtempSync(join(host.workFolder, 'tmp-'));
  const startedAt = performance.now();
  const process = supervised(spec, slot, host, temporary);
  const ending = new AbortController();
  const connection = spec.connect(process, ending.signal, temporary);
  const gone = async (): Promise<ProcessEnd> => {
    const end = await process.ended;
    ending.abort();
    logStrays(end, host.log, { resident: spec.name, slot: slot.index });
    await removeTree(temporary, host.log);
    return end;
  };
  return { process, connection, startedAt, gone: gone() };
};

const supervised = (
  { command, args, env, cwd }: ResidentSpec<ResidentConnection>,
  slot: GpuSlot,
  { env: host, mark, supervisors }: ResidentHost,
  temporary: string,
): SupervisedProcess => {
  try {
    return supervisors.startKept({
      command,
      args,
      env: {
        ...processEnvironment({ host, env, device: slot.device, temporary, mark }),
        [SLOT_VARIABLE]: String(slot.index),
      },
      folder: cwd ?? temporary,
    });
  } catch (error) {
    rmdirSync(temporary);
    throw error;
  }
};
