import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentTypeOf } from '@runledger/contracts/file-name';
import { errorOf } from '@runledger/contracts/events/run-error';
import type { ListedOutputs, RunOutput, StoredFile } from '@runledger/contracts/events/run-event-data';
import { jsonBytes } from '@runledger/contracts/json';
import {
  MAX_INLINE_BYTES,
  MAX_OUTPUT_FILES,
  MAX_OUTPUTS_BYTES,
  uploadTimeoutS,
} from '@runledger/contracts/limits';
import { identityOf } from '../runners/output-files.ts';
import type { NodeData, OutputFile, OutputNode, RunData, RunResult } from '../runners/runner.ts';
import type { StoredFiles, StoringAttempt, StoredList } from '../transfer/store-files.ts';
import type { AttemptFolders } from '../folders/work-folder.ts';
import type { AttemptLedger } from './attempt-ledger.ts';
import type { Assignment } from './assignment.decide.ts';
import {
  beginStoring,
  NO_OUTPUTS,
  storedTooLong,
  type Executed,
  type Storing,
} from './end-of-attempt.decide.ts';
import { largeTexts, withStoredTexts, type LargeText, runOutputs } from './run-outputs.decide.ts';
import { openTimeLimit } from './time-limit.ts';

export interface OutputTools {
  readonly newId: () => string;
  readonly store: (
    assignment: Assignment,
    files: readonly OutputFile[],
    storing: StoringAttempt,
  ) => Promise<StoredFiles>;
  readonly storeList: (
    assignment: Assignment,
    outputs: readonly RunOutput[],
    stop: AbortSignal,
  ) => Promise<StoredList>;
}

interface Made {
  readonly result: Executed;
  /** Of what no node made. */
  readonly outputId: string;
  readonly makePrivateDir: AttemptFolders['makePrivateDir'];
  /** Takes the live status while files are stored. */
  readonly report: StoringAttempt['report'];
}

interface StoredOutputs {
  readonly storing: Storing;
  readonly outputs: ListedOutputs;
}

/**
 * Stores the files of the workflow, and large texts as files, unless the run was cancelled or requeued. Combines the outputs with what
 * was stored.
 */
export const storeOutputs = async (
  ledger: AttemptLedger,
  { store, storeList, newId }: OutputTools,
  { result, outputId, makePrivateDir, report }: Made,
): Promise<StoredOutputs> => {
  if (result.outcome !== 'succeeded' && result.outcome !== 'failed') {
    return { storing: { kind: 'stored' }, outputs: NO_OUTPUTS };
  }
  const parts = partsOf(result);
  const large = parts.reduce<LargeText[][]>((before, { data }) => {
    const taken = before.flat().map(({ filename }) => ({ filename, subfolder: '' }));
    return [...before, largeTexts(data, [...result.files, ...taken])];
  }, []);
  const files = [...(await textFiles(large.flat(), makePrivateDir)), ...result.files];
  const stored = await storeFiles(ledger, store, files, report);
  const texts = stored.files.slice(0, large.flat().length);
  const others = stored.files.slice(texts.length);
  const outputs = parts.flatMap(({ node, data }, index) => {
    const before = large.slice(0, index).flat().length;
    const own = large[index] ?? [];
    return runOutputs(
      { id: newId(), outputId, node },
      withStoredTexts(data, own, texts.slice(before, before + own.length)),
      others.flatMap((file, at) =>
        file !== null && (result.files[at]?.node?.id ?? null) === (node?.id ?? null) ? [file] : [],
      ),
    );
  });
  return list(ledger, storeList, stored.storing, outputs);
};

/** What was made, by the nodes that made it. */
const partsOf = (
  result: Extract<RunResult, { readonly outcome: 'succeeded' | 'failed' }>,
): { readonly node: OutputNode | null; readonly data: RunData }[] => {
  const said: { data: RunData; nodes?: readonly NodeData[] } =
    result.outcome === 'succeeded' ? result : { data: {} };
  const nodes = new Map((said.nodes ?? []).map(({ node, data }) => [node.id, { node, data }]));
  for (const { node } of result.files)
    if (node && !nodes.has(node.id)) nodes.set(node.id, { node, data: {} });
  return [{ node: null, data: said.data }, ...nodes.values()];
};

/** The outputs as the event that ends the run has them: all, or a reference to their list. */
const list = async (
  { assignment, stop }: AttemptLedger,
  storeList: OutputTools['storeList'],
  storing: Storing,
  outputs: readonly RunOutput[],
): Promise<StoredOutputs> => {
  const bytes = jsonBytes([...outputs]);
  if (bytes <= MAX_INLINE_BYTES) return { storing, outputs: { outputs: [...outputs], outputs_blob: null } };
  if (bytes > MAX_OUTPUTS_BYTES) return { storing: TOO_LONG, outputs: NO_OUTPUTS };
  const first = await storeList(assignment, outputs, stop);
  // A cancelled run shows the files that were stored before.
  const stored =
    first.kind === 'stopped'
      ? await storeList(assignment, outputs, AbortSignal.timeout(LIST_OF_STOPPED_MS))
      : first;
  if (stored.kind === 'stored') {
    return {
      storing: first.kind === 'stopped' && storing.kind === 'stored' ? first : storing,
      outputs: { outputs: null, outputs_blob: stored.blob },
    };
  }
  return { storing: storing.kind === 'stored' ? stored : storing, outputs: NO_OUTPUTS };
};

/** How long the end of a run that was stopped waits for the gateway. */
const LIST_OF_STOPPED_MS = 3_000;

const TOO_LONG: Storing = {
  kind: 'refused',
  error: errorOf(
    'output_too_large',
    'The list of outputs is larger than 256 KiB as JSON. Write less text, or leave fewer files.',
  ),
};

const storeFiles = async (
  ledger: AttemptLedger,
  store: OutputTools['store'],
  files: readonly OutputFile[],
  report: StoringAttempt['report'],
): Promise<StoredFiles> => {
  if (files.length === 0) return { storing: { kind: 'stored' }, files: [] };
  if (files.length > MAX_OUTPUT_FILES) return { storing: tooMany(files.length), files: [] };
  if (jsonBytes(files.map(entryOf)) > MAX_OUTPUTS_BYTES) return { storing: TOO_LONG, files: [] };
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (!(await ledger.append((state) => beginStoring(state, files.length, bytes))))
    return { storing: { kind: 'stopped' }, files: [] };
  using limit = openTimeLimit(ledger.stop, uploadTimeoutS(bytes));
  limit.start();
  const stored = await store(ledger.assignment, files, { stop: limit.signal, report });
  return stored.storing.kind === 'stopped' && limit.isOver()
    ? { ...stored, storing: storedTooLong(bytes) }
    : stored;
};

/** As the list of outputs names it once it is stored. */
const entryOf = ({ filename, subfolder, bytes }: OutputFile): StoredFile => ({
  key: '-'.repeat(43),
  filename,
  subfolder,
  content_type: contentTypeOf(filename),
  bytes,
  sha256: '0'.repeat(64),
  type: 'output',
  upload_duration: 0,
});

const tooMany = (files: number): Storing => ({
  kind: 'refused',
  error: errorOf(
    'output_too_large',
    `The run has ${files} output files with those of its large texts, and may have ${MAX_OUTPUT_FILES}. Nothing was stored. Leave fewer files, such as one archive of many.`,
  ),
});

const textFiles = async (
  texts: readonly LargeText[],
  makeDir: Made['makePrivateDir'],
): Promise<OutputFile[]> => {
  if (texts.length === 0) return [];
  const folder = await makeDir();
  return Promise.all(texts.map((text) => textFile(text, folder)));
};

const textFile = async ({ filename, text }: LargeText, folder: string): Promise<OutputFile> => {
  const path = join(folder, filename);
  const content = Buffer.from(text);
  await writeFile(path, content);
  return { path, filename, subfolder: '', bytes: content.byteLength, identity: identityOf(await stat(path)) };
};
