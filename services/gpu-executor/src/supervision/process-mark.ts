import { createHash } from 'node:crypto';
import { readFile, readdir, realpath } from 'node:fs/promises';

/**
 * Every process of a run carries `RUNLEDGER_EXECUTOR_MARK=<folder>.<pid>.<started>` in its environment: a digest of
 * the work folder, and the executor process that started it. The system reuses pids; a pid and a start time (clock ticks
 * since the machine's start) together identify one process.
 */
export const MARK_VARIABLE = 'RUNLEDGER_EXECUTOR_MARK';

export interface Mark {
  folder: string;
  pid: number;
  started: string;
}

export const formatMark = ({ folder, pid, started }: Mark): string => `${folder}.${pid}.${started}`;

export const parseMark = (text: string): Mark | null => {
  const [, folder, pid, started] = /^([0-9a-f]{16})\.(\d{1,10})\.(\d{1,20})$/.exec(text) ?? [];
  return folder === undefined || pid === undefined || started === undefined
    ? null
    : { folder, pid: Number(pid), started };
};

export const ownMark = async (workFolder: string): Promise<Mark> => ({
  folder: createHash('sha256')
    .update(await realpath(workFolder))
    .digest('hex')
    .slice(0, 16),
  pid: process.pid,
  // Without /proc no process can be searched for either.
  started: (await readStat(process.pid))?.started ?? '0',
});

export interface ProcessStat {
  state: string;
  group: number;
  started: string;
}

/** Null when there is no such process. */
export const readStat = async (pid: number): Promise<ProcessStat | null> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The command's name is in parentheses and may contain spaces and parentheses: count from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state = '', , group = ''] = fields;
  return { state, group: Number(group), started: fields[19] ?? '' };
};

/** The environment that a process was started with; empty for processes of other users and for dead ones. */
export const readEnvironment = async (pid: number): Promise<Map<string, string>> => {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return new Map(
    text.split('\0').map((entry) => {
      const equals = entry.indexOf('=');
      return [entry.slice(0, equals), entry.slice(equals + 1)];
    }),
  );
};

export const allProcesses = async (): Promise<number[]> =>
  (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
