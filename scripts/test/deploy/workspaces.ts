import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** @throws TypeError if it is not an object */
export const members = (value: unknown): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) throw new TypeError(`Not an object: ${String(value)}`);
  return { ...value };
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

/** The package.json of a workspace, by its folder, such as `services/gateway`. */
export const manifestOf = (folder: string): Manifest => {
  const read: unknown = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  const { name, version, dependencies = {} } = members(read);
  return { name: String(name), version: String(version), dependencies: Object.keys(members(dependencies)) };
};

const folders = new Map(
  globSync(['packages/*', 'services/*', 'apps/*'], { cwd: ROOT })
    .filter((folder) => existsSync(join(ROOT, folder, 'package.json')))
    .map((folder) => [manifestOf(folder).name, folder]),
);

/** The folder of a workspace and those of all workspaces that it needs at run time, sorted. */
export const neededBy = (folder: string): string[] => {
  const needed = new Set([folder]);
  // The loop also visits the folders that it adds.
  for (const each of needed)
    for (const dependency of manifestOf(each).dependencies) {
      const found = folders.get(dependency);
      if (found !== undefined) needed.add(found);
    }
  return [...needed].toSorted();
};
