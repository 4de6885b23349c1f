import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const MOST_BYTES = 8 * 1024 * 1024;

export interface LogFile extends Disposable {
  readonly write: (line: string) => void;
}

/**
 * Appends lines to a file that only this user may read. When it is full it becomes `<path>.1`, in place of the one
 * before, so two files hold the latest lines. Written at once and in order: log lines are few, and after a crash
 * the last ones matter most.
 */
export const openLogFile = (path: string, mostBytes = MOST_BYTES): LogFile => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const open = (): number => openSync(path, 'a', 0o600);
  let file = open();
  let bytes = fstatSync(file).size;
  const turn = (): void => {
    closeSync(file);
    renameSync(path, `${path}.1`);
    file = open();
    bytes = 0;
  };
  return {
    write: (line) => {
      const record = Buffer.from(`${line}\n`);
      try {
        if (bytes > 0 && bytes + record.length > mostBytes) turn();
        bytes += writeSync(file, record);
      } catch {
        // A full disk must not end the process that could report it; the services meet it too and say so.
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
};
