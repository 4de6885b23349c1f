import { readFile } from 'node:fs/promises';

/** Identifies a process even if a later process has the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from the boot of the machine to the start of the process. */
  readonly start_ticks: number;
  /** Process numbers and ticks restart with every boot. */
  readonly boot_id: string;
}

export const identityOf = async (pid: number): Promise<ProcessIdentity | undefined> => {
  const start_ticks = await startTicksOf(pid);
  return start_ticks === undefined ? undefined : { pid, start_ticks, boot_id: await bootId() };
};

export const isRunning = async (process: ProcessIdentity): Promise<boolean> => {
  const now = await identityOf(process.pid);
  return now !== undefined && now.start_ticks === process.start_ticks && now.boot_id === process.boot_id;
};

/** Undefined if the process does not exist or is a zombie. */
const startTicksOf = async (pid: number): Promise<number | undefined> => {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name before the last ")" may hold spaces and brackets; see proc_pid_stat(5) for the fields behind it.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : Number(fields[18]);
  } catch {
    return undefined;
  }
};

const bootId = async (): Promise<string> => {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    return 'unknown';
  }
};
