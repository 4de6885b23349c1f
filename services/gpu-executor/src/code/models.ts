import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import type { VersionSource } from '../runners/runner.ts';
import { failed, type HeldFolder, type NotPrepared, type PreparedFolders } from './prepared-folders.ts';

export interface ModelsRun {
  readonly org_id: string;
  readonly manifest: CodeManifest;
  readonly source: VersionSource;
  readonly folders: PreparedFolders;
  /** What happens, in a few words, and a line for the log of the run. */
  readonly onStep: (step: string) => void;
  readonly onLine: (line: string) => void;
  readonly stop: AbortSignal;
}

/** The weights of a version, in a folder with the paths that its manifest gives them. */
export const prepareModels = (_run: ModelsRun): Promise<HeldFolder | NotPrepared> =>
  Promise.resolve(failed('This executor prepares no models.'));
