import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** @throws when it is no object */
export const members = (value: unknown): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) throw new TypeError(`Not an object: ${String(value)}`);
  return { ...value };
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: readonly string[];
}

/** What a workspace's package.json says, by its folder, such as `services/gateway`. */
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

/** The folder of a workspace and those of all workspaces that it needs when it runs, sorted. */
export const neededBy = (folder: string): string[] => {
  const needed = new Set([folder]);
  // A set that grows while it is walked: what is added is walked too.
  for (const each of needed)
    for (const dependency of manifestOf(each).dependencies) {
      const found = folders.get(dependency);
      if (found !== undefined) needed.add(found);
    }
  return [...needed].toSorted();
};
