import type { RunWarning } from '@runledger/contracts/warnings/run-warning';
import { join } from 'node:path';
import type { Span } from '../core/history-entry.ts';
import type { ServerFile } from '../core/server-outputs.ts';
import { silentNodes, warningsOf, type SaidOutputs } from '../core/silent-nodes.ts';
import type { ComfyApi } from '../server/comfy-api.ts';
import type { WrittenFiles } from '../server/output-folder.ts';

export interface Unnamed {
  /** Output nodes that named nothing. */
  readonly silent: readonly string[];
  readonly unnamed: readonly Omit<ServerFile, 'node'>[];
  readonly warnings: readonly RunWarning[];
}

/** The files that output nodes made without a word of them, and warnings about those that made nothing. `folder`: of the attempt. */
export const unnamedFiles = async (
  api: ComfyApi,
  said: SaidOutputs,
  { folder, span }: { readonly folder: string; readonly span: Span | null },
): Promise<Unnamed> => {
  const silent = silentNodes(said);
  if (silent.length === 0) return { silent, unnamed: [], warnings: [] };
  const written = span === null ? UNSEEN : await api.written(folder, span);
  const known = new Set(said.read.flatMap(({ files }) => files.map(pathOf)));
  const unnamed = written.kind === 'found' ? written.files.filter((file) => !known.has(pathOf(file))) : [];
  const warnings = unnamed.length > 0 ? [] : warningsOf(said, silent, written.kind === 'found');
  return { silent, unnamed, warnings };
};

const UNSEEN: WrittenFiles = { kind: 'unseen' };

const pathOf = ({ subfolder, filename }: Omit<ServerFile, 'node'>): string =>
  join(subfolder.replaceAll('\\', '/'), filename);
