import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The folders that the line of a workspace names: `core/` of `services/scheduler`. */
const namedFolders = (page: string): string[] =>
  [...page.matchAll(/^- `((?:apps|packages|services)\/[\w-]+)`:(.*(?:\n  .*)*)/gm)].flatMap(
    ([, workspace = '', said = '']) =>
      [...said.matchAll(/`([\w/-]+)\/`/g)].map(([, folder = '']) => join(workspace, 'src', folder)),
  );

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

const WHERE = readFileSync(join(ROOT, 'docs/architecture/where-to-change.md'), 'utf8');

it.each(namedFolders(WHERE))('the page of workspaces names %s, which exists', (folder) => {
  expect(existsSync(join(ROOT, folder))).toBe(true);
});
