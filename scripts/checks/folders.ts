/**
 * `npm run verify` runs this check of all folders: a folder holds at most 15 files, and the imports between the folders of a
 * workspace make no circle. oxlint finds circles between files (import/no-cycle).
 */
import { posix } from 'node:path';
import { circlesIn, type Graph } from './circles.ts';
import { openRepository, type Repository } from './repository.ts';

const MAX_FILES = 15;
/** Numbered pages, whose number only grows. */
const EXEMPT_FOLDERS: ReadonlySet<string> = new Set(['docs/adr']);

/** One sentence for each folder with too many files. */
export const crowdedFolders = ({ files }: Pick<Repository, 'files'>): string[] => {
  const counts = new Map<string, number>();
  for (const file of files) {
    const folder = posix.dirname(file);
    if (folder !== '.') counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > MAX_FILES && !EXEMPT_FOLDERS.has(folder))
    .map(
      ([folder, count]) => `${folder} holds ${count} files, and a folder may hold ${MAX_FILES}. Divide it.`,
    );
};

/** One sentence for each circle between folders of the same workspace. */
export const folderCircles = (repository: Repository): string[] =>
  circlesIn(folderGraph(repository)).map(
    (circle) => `These folders import each other in a circle: ${circle.toSorted().join(', ')}.`,
  );

const SOURCE = /^((?:packages|services|apps)\/[^/]+)\/src\/.*\.ts$/;
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g;

const folderGraph = ({ files, read }: Repository): Graph => {
  const graph = new Map<string, Set<string>>();
  for (const file of files.filter((each) => SOURCE.test(each))) {
    const folder = posix.dirname(file);
    const imported = graph.get(folder) ?? new Set<string>();
    graph.set(folder, imported);
    for (const [, path = ''] of read(file).matchAll(IMPORT)) {
      const target = posix.dirname(posix.join(folder, path));
      if (target !== folder) imported.add(target);
    }
  }
  return graph;
};

if (import.meta.main) {
  const repository = openRepository();
  const found = [...crowdedFolders(repository), ...folderCircles(repository)];
  for (const sentence of found) console.error(sentence);
  if (found.length > 0) process.exitCode = 1;
}
