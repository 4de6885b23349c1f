import type { RunOutput, StoredFile } from '@runledger/contracts/events/run-event-data';
import type { OutputNode } from '../../runner/runner.ts';

/** What made an item of the outputs. */
export interface OutputSource {
  readonly id: string;
  /** Of the item, where the node does not call it otherwise. */
  readonly outputId: string;
  /** Null for what no node made. */
  readonly node: OutputNode | null;
}

/** One item of the outputs of a run, with its data and its stored files; none without both. */
export const runOutputs = (
  { id, outputId, node }: OutputSource,
  present: Readonly<Record<string, readonly (string | StoredFile)[]>>,
  files: readonly StoredFile[],
): RunOutput[] => {
  const data = new Map<string, (string | StoredFile)[]>(
    Object.entries(present).map(([kind, items]) => [kind, [...items]]),
  );
  for (const file of files) {
    const kind = kindOf(file.content_type);
    data.set(kind, [...(data.get(kind) ?? []), file]);
  }
  if (data.size === 0) return [];
  return [
    {
      id,
      output_id: node === null ? outputId : (node.output_id ?? node.id),
      node_id: node?.id ?? null,
      node_meta: node?.title ? { title: node.title } : null,
      type: node?.class_type ?? null,
      data: Object.fromEntries(data),
    },
  ];
};

const kindOf = (contentType: string): string => {
  if (contentType.startsWith('image/')) return 'images';
  if (contentType.startsWith('video/')) return 'videos';
  return contentType.startsWith('audio/') ? 'audio' : 'files';
};
