import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export const MAX_LOG_FILE_BYTES = 8 * 1024 * 1024;

export interface LogFile extends Disposable {
  readonly write: (line: string) => void;
}

/**
 * Appends lines to a file that only its owner may read. A full file is renamed to `<path>.1` and replaces the previous one,
 * so that two files hold the latest lines. Writes are synchronous and in order: there are few lines, and the last ones
 * matter most after a crash.
 */
export const openLogFile = (path: string): LogFile => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const open = (): number => openSync(path, 'a', 0o600);
  let file = open();
  let bytes = fstatSync(file).size;
  const rotate = (): void => {
    closeSync(file);
    renameSync(path, `${path}.1`);
    file = open();
    bytes = 0;
  };
  return {
    write: (line) => {
      const record = Buffer.from(`${line}\n`);
      try {
        if (bytes > 0 && bytes + record.length > MAX_LOG_FILE_BYTES) rotate();
        bytes += writeSync(file, record);
      } catch {
        // A full disk must not end this process. The services report the problem.
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
};
