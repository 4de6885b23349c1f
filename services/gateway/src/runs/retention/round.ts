import type { EraseFiles } from '../erase/erase-files.ts';

/** One time of looking for what is old enough. */
export interface Round {
  readonly erase: EraseFiles;
  /** Runs, and bytes of output files. */
  readonly onRemoved: (removed: { readonly runs: number; readonly bytes: number }) => void;
  /** The round ends soon after it. */
  readonly stop: AbortSignal;
}

/** Views that are read at once. */
export const PAGE = 200;
/** Runs of one organisation, so that those of others have their turn. The next round goes on. */
export const IN_A_ROUND = 100_000;
export const MAX_CONCURRENT = 8;
