import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { RunWarning } from '@runledger/contracts/events/run-warning';
import { MAX_OUTPUTS_BYTES } from '@runledger/contracts/limits';
import { sleep } from '@runledger/resilience/abort';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Span } from './prompt-state.decide.ts';
import {
  pathOfFile,
  readOutputs,
  type NodeOutputs,
  type FolderFile,
  type ServerFile,
  type PromptOutputs,
  type ReadOutputs,
  silentNodes,
  warningsOf,
} from './outputs.decide.ts';
import { nodeInWorkflow, outputNode, type ComfyWorkflow } from './workflow.decide.ts';
import { FILE_LIMITS } from '../output-files.ts';
import type { NodeData, OutputNode, RunData } from '../runner.ts';
import { whyOf } from '../model-server/model-server.ts';
import type { ComfyApi } from './comfy-api.ts';
import type { WrittenFiles } from './output-folder.ts';

export interface FetchedOutputs {
  readonly nodes: readonly NodeData[];
  /** Which node made the files, by their paths below the output folder of the run. */
  readonly makers: ReadonlyMap<string, OutputNode>;
  readonly warnings: readonly RunWarning[];
  /** Why they are not complete; null when they are. */
  readonly error: AttemptError | null;
}

export interface OutputTarget {
  readonly outputDir: string;
  /** Of the attempt, below the output folder of the server. */
  readonly folder: string;
  /** When the server executed the prompt; null when that is not known. */
  readonly span: Span | null;
}

const TRIES = 3;
const AGAIN_AFTER_MS = 500;

/** Fetches what the nodes of a prompt made: first the files that they name, one after the other, until one cannot be fetched. */
export const fetchOutputs = async (
  api: ComfyApi,
  { workflow, outputs }: PromptOutputs,
  target: OutputTarget,
  signal: AbortSignal,
): Promise<FetchedOutputs> => {
  const read = readOutputs(outputs);
  const nodes = byNode(workflow, read);
  const named = read.flatMap(({ files }) => files);
  const { silent, unnamed, warnings } = await unnamedFiles(
    api,
    { workflow, outputs, read, classes: api.knownClasses },
    target,
  );
  // Of several that named nothing nobody knows which made it.
  const maker = silent.length === 1 ? silent[0] : undefined;
  const files = [...named, ...unnamed.map((file) => ({ ...file, node: maker ?? '' }))];
  const makers = new Map<string, OutputNode>();
  const fetched = { nodes: [...nodes.values()], makers, warnings };
  if (files.length > FILE_LIMITS.files) return { ...fetched, error: tooMany(files.length) };
  for (const file of files) {
    if (signal.aborted) break;
    const placed = await fetchFile(api, file, target, signal);
    if (placed === null) continue;
    if (typeof placed !== 'string') return { ...fetched, error: placed };
    const id = nodeInWorkflow(workflow, file.node);
    if (file.node !== '') makers.set(placed, nodes.get(id)?.node ?? outputNode(workflow, id, null));
  }
  const bytes = Buffer.byteLength(JSON.stringify(fetched.nodes.map(({ data }) => data)));
  return { ...fetched, error: bytes > MAX_OUTPUTS_BYTES ? TEXT_TOO_LARGE : null };
};

const byNode = (workflow: ComfyWorkflow, read: readonly NodeOutputs[]): Map<string, NodeData> => {
  const nodes = new Map<string, NodeData>();
  for (const { node, output_id, data } of read) {
    const id = nodeInWorkflow(workflow, node);
    const before = nodes.get(id);
    nodes.set(id, {
      node: before?.node ?? outputNode(workflow, id, output_id),
      data: before === undefined ? data : joined(before.data, data),
    });
  }
  return nodes;
};

const joined = (one: RunData, other: RunData): RunData => {
  const kinds = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...kinds].map((kind) => [kind, [...(one[kind] ?? []), ...(other[kind] ?? [])]]));
};

const tooMany = (count: number): AttemptError =>
  errorOf('output_too_large', `The workflow made ${count} files, and a run may have ${FILE_LIMITS.files}.`);

const TEXT_TOO_LARGE = errorOf(
  'output_too_large',
  `The text outputs of the workflow are larger than ${MAX_OUTPUTS_BYTES / 1024} KiB as JSON. Save large results as files.`,
);

/** Where it lies below the output folder of the run, or why it cannot be fetched; null when the run was stopped. */
const fetchFile = async (
  api: ComfyApi,
  file: ServerFile,
  { outputDir, folder }: OutputTarget,
  signal: AbortSignal,
): Promise<AttemptError | string | null> => {
  const { filename, subfolder, type, node } = file;
  const parts = pathOfFile(file, folder);
  if (parts === null) {
    return errorOf(
      'invalid_output',
      `Node ${node} names a file that is none below the output folder: ${filename}`,
      { node },
    );
  }
  const path = join(outputDir, ...parts);
  await mkdir(dirname(path), { recursive: true });
  let why = '';
  for (let tries = 0; tries < TRIES && !signal.aborted; tries += 1) {
    if (tries > 0) await sleep(AGAIN_AFTER_MS, signal);
    const download = await api.download({ filename, subfolder, type }, signal);
    if (download.kind === 'refused') return refusedFile(api, file, download.status);
    if (download.kind === 'unreachable') {
      why = download.why;
      continue;
    }
    try {
      await pipeline(download.body, createWriteStream(path, { flags: 'w', mode: 0o600 }), { signal });
      return join(...parts);
    } catch (error) {
      why = whyOf(error);
      if (why === 'ENOSPC' || why === 'EDQUOT')
        return errorOf(
          'storage_full',
          'The work folder of the executor has no room for the files of the run.',
        );
    }
  }
  return signal.aborted
    ? null
    : errorOf('crashed', `ComfyUI does not give the file ${filename} of node ${node} (${why}).`);
};

/** The server took what an earlier run made from its cache, and that file is gone: without the cache it makes it again. */
const refusedFile = async (
  api: ComfyApi,
  { filename, node }: ServerFile,
  status: number,
): Promise<AttemptError> => {
  await api.post('free', { free_memory: true });
  const message = `ComfyUI has no file ${filename} of node ${node} (status ${status}): somebody removed it. Its cache is emptied, so that another run makes it again.`;
  return errorOf('invalid_output', message, { node, retryable: true });
};

interface Unnamed {
  /** Output nodes that named nothing. */
  readonly silent: readonly string[];
  readonly unnamed: readonly FolderFile[];
  readonly warnings: readonly RunWarning[];
}

/** The files that output nodes made without a word of them, and warnings about those that made nothing. `folder`: of the attempt. */
const unnamedFiles = async (
  api: ComfyApi,
  made: ReadOutputs,
  { folder, span }: { readonly folder: string; readonly span: Span | null },
): Promise<Unnamed> => {
  const silent = silentNodes(made);
  if (silent.length === 0) return { silent, unnamed: [], warnings: [] };
  const written = span === null ? UNSEEN : await api.written(folder, span);
  const known = new Set(made.read.flatMap(({ files }) => files.map(pathOf)));
  const unnamed = written.kind === 'found' ? written.files.filter((file) => !known.has(pathOf(file))) : [];
  const warnings = unnamed.length > 0 ? [] : warningsOf(made, silent, written.kind === 'found');
  return { silent, unnamed, warnings };
};

const UNSEEN: WrittenFiles = { kind: 'unseen' };

const pathOf = ({ subfolder, filename }: FolderFile): string =>
  join(subfolder.replaceAll('\\', '/'), filename);
