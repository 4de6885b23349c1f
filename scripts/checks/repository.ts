import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** What the checks of scripts/checks read. */
export interface Repository {
  /** Paths from the root, with `/`. */
  readonly files: readonly string[];
  readonly read: (file: string) => string;
}

/** The files of this checkout: tracked, or new and not ignored. */
export const openRepository = (): Repository => {
  const root = posix.join(import.meta.dirname, '..', '..');
  const list = (...args: string[]): string[] =>
    execFileSync('git', ['ls-files', ...args], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((file) => file !== '');
  const deleted = new Set(list('--deleted'));
  const files = list('--cached', '--others', '--exclude-standard', '--deduplicate');
  return {
    files: files.filter((file) => !deleted.has(file)),
    read: (file) => readFileSync(posix.join(root, file), 'utf8'),
  };
};
