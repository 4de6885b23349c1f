import { join } from 'node:path';

/**
 * `<root>/<two characters>/<key>/` holds one file and its description. `<root>/incoming/` holds uploads in
 * progress. They are moved as a whole, so a file exists completely or not at all.
 */
export const CONTENT = 'content';
export const DESCRIPTION = 'description.json';
const INCOMING = 'incoming';

const SHARD = /^[A-Za-z0-9_-]{2}$/;
export const isShard = (name: string): boolean => SHARD.test(name);

/** Thousands of files in one folder are slow on some file systems. */
export const shardOf = (root: string, key: string): string => join(root, key.slice(0, 2));
export const folderOf = (root: string, key: string): string => join(shardOf(root, key), key);
export const incomingOf = (root: string, ...name: readonly string[]): string => join(root, INCOMING, ...name);

/** The file does not exist; another gateway may have removed it. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
