import type { Catalogue } from '../../catalogue/catalogue.ts';
import { keepLatest } from '../../concurrency/recently-used.ts';

/** The SHA-256 of a workflow version; undefined when there is no such version. @throws {LogUnavailable} */
export type VersionHashes = (org: string, id: string) => Promise<string | undefined>;

const MOST_KEPT = 10_000;

/** Versions are immutable and up to 512 KiB, so each is read once and only its hash is kept. */
export const versionHashes = (catalogue: Catalogue): VersionHashes => {
  const known = new Map<string, string>();
  return async (org, id) => {
    const name = `${org}.${id}`;
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const sha256 = (await catalogue.getWorkflowVersion(org, id))?.sha256;
    if (sha256 === undefined) return undefined;
    keepLatest(known, MOST_KEPT, name, sha256);
    return sha256;
  };
};
