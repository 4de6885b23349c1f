import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The files that a page names: relative to the root, to the folder of the heading, or to the file before it. */
const namedFiles = (page: string): { readonly name: string; readonly candidates: readonly string[] }[] => {
  let folder = '';
  let beside = '';
  return page.split('\n').flatMap((line) => {
    const heading = /^## .*`([^`]+)`$/.exec(line);
    if (heading?.[1] !== undefined) {
      [folder, beside] = [heading[1], heading[1]];
      return [];
    }
    return [...line.matchAll(/`([^`]+\.ts)`/g)].map(([, name = '']) => {
      const candidates = [name, join(folder, name), join(beside, name)];
      beside = dirname(candidates.find((path) => existsSync(join(ROOT, path))) ?? beside);
      return { name, candidates };
    });
  });
};

const PAGES = [
  'ARCHITECTURE.md',
  'docs/changing.md',
  'docs/walk.md',
  'docs/architecture/where-to-change.md',
  'docs/architecture/writers.md',
];

describe.each(PAGES)('%s', (page) => {
  const files = namedFiles(readFileSync(join(ROOT, page), 'utf8')).filter(
    ({ name }) => !/^(main|config|contract|.*\*.*)\.ts$/.test(name),
  );

  it.each(files)('names $name, which exists', ({ candidates }) => {
    expect(candidates.some((path) => existsSync(join(ROOT, path)))).toBe(true);
  });
});
