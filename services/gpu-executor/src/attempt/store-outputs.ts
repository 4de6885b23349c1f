import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OutputFile, RunResult } from '../runner/runner.ts';
import type { StoredFiles } from '../upload/store-files.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import type { Assignment } from './core/assignment.ts';
import { beginStoring, type Ending } from './core/end-of-attempt.ts';
import { largeTexts, withStoredTexts, type LargeText } from './core/large-texts.ts';
import { fitsIntoEvent, runOutputs } from './core/run-outputs.ts';

export interface OutputTools {
  readonly newId: () => string;
  readonly store: (
    assignment: Assignment,
    files: readonly OutputFile[],
    stop: AbortSignal,
  ) => Promise<StoredFiles>;
}

interface Executed {
  readonly result: RunResult;
  readonly outputId: string;
  /** An empty folder. */
  readonly textDir: string;
}

/**
 * Stores the files of the workflow, and large texts as files, unless the run was cancelled or requeued. Combines the outputs with what
 * was stored.
 */
export const storeOutputs = async (
  ledger: AttemptLedger,
  { store, newId }: OutputTools,
  { result, outputId, textDir }: Executed,
): Promise<Pick<Ending, 'storing' | 'outputs'>> => {
  if (result.outcome === 'not_runnable' || result.outcome === 'cancelled') {
    return { storing: { kind: 'stored' }, outputs: [] };
  }
  const data = result.outcome === 'succeeded' ? result.data : {};
  const large = largeTexts(data, result.files);
  const files = [...(await Promise.all(large.map((text) => textFile(text, textDir)))), ...result.files];
  const stored = await storeFiles(ledger, store, files);
  const texts = withStoredTexts(data, large, stored.files.slice(0, large.length));
  const outputs = runOutputs(newId(), outputId, texts, stored.files.slice(large.length));
  if (fitsIntoEvent(outputs)) return { storing: stored.storing, outputs };
  const why = 'The list of outputs is larger than 256 KiB as JSON. Write less text, or leave fewer files.';
  return { storing: { kind: 'refused', reason: 'workflow_error', why }, outputs: [] };
};

const storeFiles = async (
  ledger: AttemptLedger,
  store: OutputTools['store'],
  files: readonly OutputFile[],
): Promise<StoredFiles> => {
  if (files.length === 0) return { storing: { kind: 'stored' }, files: [] };
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return (await ledger.append((state) => beginStoring(state, files.length, bytes)))
    ? store(ledger.assignment, files, ledger.stop)
    : { storing: { kind: 'stopped' }, files: [] };
};

const textFile = async ({ filename, text }: LargeText, folder: string): Promise<OutputFile> => {
  const path = join(folder, filename);
  const content = Buffer.from(text);
  await writeFile(path, content);
  return { path, filename, subfolder: '', bytes: content.byteLength };
};
